import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** LibreOffice's numbers (https://help.libreoffice.org/latest/en-US/text/shared/guide/csv_params.html). */
const DELIMITERS = { comma: 44, semicolon: 59, tab: 9 };
const CHARSETS = { 'utf-8': 76, 'windows-1252': 1, 'utf-16le': 65_535 } as const;

/** The files that `saveSpreadsheets` writes from one spreadsheet. */
export const SAVED = Object.entries(CHARSETS).flatMap(([charset, encoding]) =>
  Object.entries(DELIMITERS).map(([delimiter, code]) => ({
    name: `${delimiter}-${charset}.csv`,
    charset: charset as keyof typeof CHARSETS,
    filter: `${code},34,${encoding},1`,
  })),
);

/** Saved from a spreadsheet whose ids are numbers, of which it keeps 15 digits. */
export const ROUNDED = 'rounded.csv';

/** The plants of these files. */
export const SAVED_PLANTS = [
  { id: 9223372036854775807n, name: 'Tännchen "weiß", groß; €', tag: 'Abies' },
  { id: -5n, name: 'Zeile 1\nZeile 2', tag: undefined },
  { id: 1000n, name: 'Eibe', tag: 'Taxus' },
];

const SOURCE = `Id,NAME,tag
9223372036854775807,"Tännchen ""weiß"", groß; €",Abies
-5,"Zeile 1
Zeile 2",
1000,Eibe,Taxus
`;

export const spreadsheetObstacle =
  spawnSync('soffice', ['--version']).error && 'soffice is not installed (Debian: libreoffice-calc-nogui)';

/** Has LibreOffice open and save the files, which takes some seconds for each. */
export const saveSpreadsheets = (folder: string): void => {
  const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile'))}`;
  const source = join(folder, 'source', 'plants.csv');
  mkdirSync(dirname(source));
  writeFileSync(source, SOURCE);
  const save = (name: string, tokens: string, columns = '') => {
    const [from, to] = [`--infilter=${FILTER}:44,34,76,1${columns}`, `csv:${FILTER}:${tokens}`];
    // --outdir must follow --convert-to.
    execFileSync('soffice', [profile, from, '--convert-to', to, '--outdir', folder, source]);
    renameSync(join(folder, 'plants.csv'), join(folder, name));
  };
  save(ROUNDED, '44,34,76,1');
  // All columns are text.
  for (const { name, filter } of SAVED) save(name, filter, ',1/2/2/2/3/2');
};

const FILTER = 'Text - txt - csv (StarCalc)';
