import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const START = '<!-- dependency diagram: npm run generate -->';
const END = '<!-- end of the dependency diagram -->';
/** Root files that only list what the features export, or hold a constant or a class. */
const LEFT_OUT = ['errors.ts', 'openapi-document.ts', 'to-store-error.ts', 'version.ts'];

type Folder = { source: string; dependencies: { resolved: string }[] };

/** The folders of src/, and the root files, with what they import. */
const readImports = (): Map<string, string[]> => {
  const exclude = `[.]test[.]ts$|^src/(generated/|(${LEFT_OUT.join('|')})$)`;
  const options = [
    '--include-only',
    '^src/',
    '--exclude',
    exclude,
    '--collapse',
    '^src/[^/]+',
    '--output-type',
    'json',
  ];
  const output = execFileSync('node_modules/.bin/depcruise', ['src', ...options], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const name = (path: string) => path.replace('src/', '');
  return new Map(
    (JSON.parse(output).modules as Folder[]).map(({ source, dependencies }) => [
      name(source),
      dependencies.map(({ resolved }) => name(resolved)).sort(),
    ]),
  );
};

/** An arrow that follows from others is left out: with a -> b -> c there is no a -> c. */
const drawArrows = (imports: Map<string, string[]>): string[] => {
  const reachable = (from: string, seen = new Set<string>()): Set<string> => {
    for (const to of imports.get(from) ?? []) if (!seen.has(to)) reachable(to, seen.add(to));
    return seen;
  };
  return [...imports]
    .sort()
    .flatMap(([from, direct]) =>
      direct
        .filter((to) => !direct.some((other) => other !== to && reachable(other).has(to)))
        .map((to) => `  ${from} --> ${to}`),
    );
};

/** @returns the page with the diagram of the folders of src/ between its markers */
export const renderArchitecture = (path: string): string => {
  const page = readFileSync(path, 'utf8');
  const [before, after] = [page.indexOf(START), page.indexOf(END)];
  if (before < 0 || after < before) throw new Error(`${path} lacks the lines ${START} and ${END}`);
  const diagram = ['', '```mermaid', 'flowchart TD', ...drawArrows(readImports()), '```', ''].join('\n');
  return `${page.slice(0, before)}${START}\n${diagram}\n${page.slice(after)}`;
};
