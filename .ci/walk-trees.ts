import { readFileSync } from 'node:fs';

/**
 * Lists all plants of a running service by following `Link`, in pages of 97, while other plants are added and deleted.
 * Each plant of the file must come exactly once, in the order of ids. Usage: walk-trees.ts FILE BASE_URL TOKEN
 */
const [file = '', baseUrl = '', token = ''] = process.argv.slice(2);
const PAGE = 97;
/** Plants that come and go meanwhile, spread over the range of ids. */
const STRANGERS = 300;

const ids = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { id: number }).id);
const taken = new Set(ids);
const free = Array.from({ length: Math.max(...ids) }, (_, id) => id).filter((id) => !taken.has(id));
const strangers = free.filter((_, index) => index % Math.ceil(free.length / STRANGERS) === 0);

const request = async (method: string, path: string, plant?: object) => {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const body = plant && JSON.stringify(plant);
  const response = await fetch(baseUrl + path, { method, headers, ...(body && { body }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
};

let walking = true;
let changes = 0;
const disturb = async () => {
  while (walking) {
    await Promise.all(strangers.map((id) => request('POST', '/plants', { id, name: 'stranger' })));
    await Promise.all(strangers.map((id) => request('DELETE', `/plants/${id}`)));
    changes += 2 * strangers.length;
  }
};

const walk = async () => {
  const seen: number[] = [];
  let pages = 0;
  for (let path: string | undefined = `/plants?limit=${PAGE}`; path !== undefined; pages++) {
    const response = await request('GET', path);
    seen.push(...((await response.json()) as { id: number }[]).map(({ id }) => id));
    const next: string | undefined = /^<(.+)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];
    // The link is relative to the URL of the page.
    path = next && `/plants${next}`;
  }
  return { seen, pages };
};

const disturbed = disturb();
const { seen, pages } = await walk().finally(() => {
  walking = false;
});
await disturbed;

const counts = new Map<number, number>();
for (const id of seen) counts.set(id, (counts.get(id) ?? 0) + 1);
const wrong = ids.filter((id) => counts.get(id) !== 1);
if (wrong.length > 0) throw new Error(`${wrong.length} plants did not come exactly once, for example ${wrong[0]}`);
if (seen.some((id, index) => index > 0 && id <= (seen[index - 1] ?? 0)))
  throw new Error('The plants are not in the order of their ids');
process.stdout.write(
  `${ids.length} plants came exactly once, on ${pages} pages, during ${changes} inserts and deletes of others; ` +
    `${seen.length - ids.length} of those were listed\n`,
);
