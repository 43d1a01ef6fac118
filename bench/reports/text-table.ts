/** Rows of text. The first is the heading. The first column is aligned left, the others right. */
export type TextTable = string[][];

const widthsOf = (table: TextTable): number[] =>
  (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));

const align = (row: string[], widths: number[]): string[] =>
  widths.map((width, column) => (column === 0 ? (row[0] ?? '').padEnd(width) : (row[column] ?? '').padStart(width)));

/** For a terminal. */
export const toPlainText = (table: TextTable): string => {
  const widths = widthsOf(table);
  const lines = table.map((row) => align(row, widths).join('  ').trimEnd());
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [lines[0], rule, ...lines.slice(1)].join('\n');
};

export const toMarkdown = (table: TextTable): string => {
  const widths = widthsOf(table);
  const lines = table.map((row) => `| ${align(row, widths).join(' | ')} |`);
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [lines[0], `| ${rule.join(' | ')} |`, ...lines.slice(1)].join('\n');
};
