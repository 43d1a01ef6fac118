import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const exclude = (name: string) => ['node_modules', '.data', 'generated'].some((folder) => name.includes(folder));
const pages = globSync(['**/*.md', '.github/**/*.md'], { exclude }).sort();
const texts = globSync(
  ['{src,test,bin,bench,client,deploy,prisma,.ci}/**/*.{ts,js,yml,yaml,sql,json,cfg,conf,service,css,html,prisma}'],
  { exclude },
);
const others = [
  'docker-compose.yml',
  'Dockerfile',
  '.env.example',
  '.ci/run',
  'deploy/rolling-restart',
  'jest.config.js',
];

/** A page without its code, in which brackets are no links. */
const readPage = (path: string) =>
  readFileSync(path, 'utf8')
    .replace(/^( *)```[\s\S]*?^\1```$/gm, '')
    .replace(/``.+?``/g, '');

/** The name that GitHub gives to a heading. */
const toAnchor = (title: string) =>
  title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (path: string): string[] => {
  const page = readPage(path);
  const titles = [...page.matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => toAnchor(title));
  const numbered = titles.map((anchor, index) => {
    const earlier = titles.slice(0, index).filter((other) => other === anchor).length;
    return earlier === 0 ? anchor : `${anchor}-${earlier}`;
  });
  return [...numbered, ...[...page.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)];
};

const linksOf = (path: string): string[] => {
  const page = readPage(path).replace(/`[^`\n]*`/g, '');
  const links = page.matchAll(/\]\(<?([^()\s>]+)>?(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)|\b(?:href|src)="([^"]+)"/gm);
  return [...links].map(([, inline, defined, html]) => inline ?? defined ?? html ?? '');
};

/** Why a link from a page leads nowhere; undefined if it leads somewhere, or out of the repository. */
const findFault = (page: string, link: string): string | undefined => {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), decodeURI(path)));
  if (!existsSync(target)) return `${link}: there is no ${target}`;
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(target).includes(anchor) ? undefined : `${link}: ${target} has no such heading`;
};

test('pages have headings, links and anchors as they are found here', () => {
  expect(pages).toContain('README.md');
  expect(linksOf('README.md').length).toBeGreaterThan(10);
  expect(toAnchor('`GET /plants/{id}`: a plant, and [its](x.md) _ETag_')).toBe('get-plantsid-a-plant-and-its-_etag_');
  expect(findFault('README.md', 'nothing.md')).toBe('nothing.md: there is no nothing.md');
  expect(findFault('docs/reference/errors.md', '#1003')).toBeUndefined();
  expect(findFault('docs/reference/limits.md', 'errors.md#nothing')).toContain('has no such heading');
});

test.each(pages)('every link of %s leads to a file and a heading', (page) => {
  expect(linksOf(page).flatMap((link) => findFault(page, link) ?? [])).toEqual([]);
});

test('the tests that test/known-problems.md names exist', () => {
  const page = readFileSync('test/known-problems.md', 'utf8');
  const rows = [...page.matchAll(/\]\((\S+\.test\.ts)\): (`+) ?(.+?) ?\2 \|$/gm)];
  expect(rows).toHaveLength(page.match(/^\| (?!problem |-)/gm)?.length ?? 0);
  const missing = rows.filter(
    ([, file = '', , title = '']) => !readFileSync(join('test', file), 'utf8').includes(title),
  );
  expect(missing).toEqual([]);
});

describe('a page that the code names', () => {
  const records = globSync('docs/decisions/*.md').map((path) => path.slice(15, 19));
  const named = [...texts, ...others].flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const paths = text.matchAll(
      /(?<![\w/.-])((?:docs|client|examples|test\/faults)\/[\w/-]+\.md|[A-Z]{4,}\.md)(#[\w-]+)?/g,
    );
    const numbers = text.matchAll(/\b(?:record|decisions\/)\s?(\d{4})\b/g);
    return [
      ...[...paths].map(([, path = '', anchor = '']) => ({ file, fault: findFault('page.md', `${path}${anchor}`) })),
      ...[...numbers].map(([, number = '']) => ({
        file,
        fault: records.includes(number) ? undefined : `no record ${number}`,
      })),
    ];
  });

  test('exists', () => {
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ fault }) => fault !== undefined)).toEqual([]);
  });
});
