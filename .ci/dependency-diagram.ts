import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Writes the diagram of the folders of src/ between its markers in README.md. An arrow that follows from others is left
 * out: with a -> b -> c there is no a -> c.
 */
const START = '<!-- dependency diagram: npm run diagram -->';
const END = '<!-- end of the dependency diagram -->';
/** Root files that only list what the features export, or hold a constant or a class. */
const LEFT_OUT = ['errors.ts', 'openapi-document.ts', 'to-store-error.ts', 'version.ts'];

type Folder = { source: string; dependencies: { resolved: string }[] };

const readme = readFileSync('README.md', 'utf8');
const [before, after] = [readme.indexOf(START), readme.indexOf(END)];
if (before < 0 || after < before) throw new Error(`README.md lacks the lines ${START} and ${END}`);

const exclude = `[.]test[.]ts$|^src/(generated/|(${LEFT_OUT.join('|')})$)`;
const options = ['--include-only', '^src/', '--exclude', exclude, '--collapse', '^src/[^/]+', '--output-type', 'json'];
const { modules } = JSON.parse(
  execFileSync('depcruise', ['src', ...options], { encoding: 'utf8', maxBuffer: 2 ** 26 }),
);
const name = (path: string) => path.replace('src/', '');
const imports = new Map(
  (modules as Folder[]).map(({ source, dependencies }) => [
    name(source),
    dependencies.map(({ resolved }) => name(resolved)).sort(),
  ]),
);

const reachable = (from: string, seen = new Set<string>()): Set<string> => {
  for (const to of imports.get(from) ?? []) if (!seen.has(to)) reachable(to, seen.add(to));
  return seen;
};

const arrows = [...imports]
  .sort()
  .flatMap(([from, direct]) =>
    direct
      .filter((to) => !direct.some((other) => other !== to && reachable(other).has(to)))
      .map((to) => `  ${from} --> ${to}`),
  );
const diagram = ['', '```mermaid', 'flowchart TD', ...arrows, '```', ''].join('\n');
writeFileSync('README.md', `${readme.slice(0, before)}${START}\n${diagram}\n${readme.slice(after)}`);
