/** The words of a cell that a reader can still take in at once. Longer texts are lists. */
const MAX_CELL_WORDS = 25;

/** @param source what it is made from */
export const renderPage = (title: string, source: string, ...parts: string[]): string =>
  `<!-- Made by \`npm run generate\` from ${source}, and not to be changed by hand. -->\n\n${[`# ${title}`, ...parts].join('\n\n')}\n`;

/** @throws {Error} a cell is too long */
export const table = (head: string[], rows: string[][]): string => {
  for (const cell of rows.flat())
    if (cell.split(/\s+/).length > MAX_CELL_WORDS) throw new Error(`This cell is too long; use a list: ${cell}`);
  const line = (cells: string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
};

export const list = (items: string[]): string => items.map((item) => `- ${item}`).join('\n');

export const codeBlock = (language: string, text: string): string => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

export const code = (text: string): string => `\`${text}\``;

/** A heading to which links lead by a name of ours. */
export const heading = (level: number, name: string, text: string): string =>
  `<a id="${name}"></a>\n\n${'#'.repeat(level)} ${text}`;

/** A number with its separators: 10,000. */
export const formatNumber = (value: number | bigint): string => value.toLocaleString('en-US');
