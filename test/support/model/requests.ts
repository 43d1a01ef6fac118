/** Few values, so that requests collide. The first are the simplest: counterexamples shrink to them. */
export const ID_VALUES = ['1', '2', '0', '9007199254740993', '9223372036854775807', '-9223372036854775808'] as const;
export const NAME_VALUES = ['Fir', 'Yew', '', 'white FIR, "é"\n100%_\\', ' 😀\u2028tree '] as const;
export const TAG_VALUES = ['Abies', '', 'a,"b"\r\n;é', ' '] as const;

export type Plant = { name: string; tag?: string };
export type Patch = { name?: string; tag?: string | null };
export type Filter = { tag?: string; q?: string; ids?: string[] };

/** A row of an import. */
export type Row = { id: string; plant: Plant } | 'blank' | 'without a name' | 'with a wrong id';

export type Import = {
  kind: 'import';
  format: 'ndjson' | 'csv' | 'json';
  rows: Row[];
  onConflict?: 'error' | 'skip' | 'replace';
  mode?: 'atomic' | 'dryRun';
  maxErrors?: number;
};

/** `change`: by default, the plants are deleted. */
export type ChangeOfMany = { kind: 'many'; filter: Filter; change?: Patch; limit?: number; dryRun?: true };

/** What a request asks for. `after`: the id before the page, whose URL is `url`. */
export type PlantRequest =
  | { kind: 'create'; id: string; plant: Plant }
  | { kind: 'read'; id: string; isHead: boolean }
  | { kind: 'replace'; id: string; plant: Plant }
  | { kind: 'patch'; id: string; change: Patch }
  | { kind: 'remove'; id: string }
  | { kind: 'list'; filter: Filter; limit?: number; after?: string; url?: string }
  | { kind: 'export'; format: 'ndjson' | 'csv'; filter: Filter }
  | Import
  | ChangeOfMany
  | { kind: 'wrong'; index: number };

export const idOf = (request: PlantRequest): string | undefined => ('id' in request ? request.id : undefined);

/** What is sent. */
export type HttpRequest = { method: string; path: string; headers: Record<string, string>; body?: string };

/** The JSON of a plant with its id, which keeps all its digits. */
export const jsonOf = (id: string, { name, tag }: Plant): string =>
  `{"id":${id},"name":${JSON.stringify(name)}${tag === undefined ? '' : `,"tag":${JSON.stringify(tag)}`}}`;

/** A field of CSV, in quotes if a reader could take it for another value or for none. */
export const csvField = (text: string | undefined): string => {
  if (text === undefined) return '';
  return text === '' || /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The file of an import, and the line on which each row begins. */
export const fileOf = ({ format, rows }: Pick<Import, 'format' | 'rows'>): { text: string; lines: number[] } => {
  const lines: number[] = [];
  if (format === 'json') {
    const elements = rows.map((row) => (row === 'blank' ? 'null' : ndjsonRow(row)));
    return { text: `[${elements}]`, lines: rows.map((_row, index) => index + 1) };
  }
  let text = format === 'csv' ? 'id,name,tag\n' : '';
  for (const row of rows) {
    lines.push(text.split('\n').length);
    text += `${format === 'csv' ? csvRow(row) : ndjsonRow(row)}\n`;
  }
  return { text, lines };
};

const ndjsonRow = (row: Row): string => {
  if (row === 'blank') return ' ';
  if (row === 'without a name') return '{"id":7}';
  if (row === 'with a wrong id') return '{"id":"x","name":"Fir"}';
  return jsonOf(row.id, row.plant);
};

const csvRow = (row: Row): string => {
  if (row === 'blank') return '';
  if (typeof row === 'string') return 'x,Fir,';
  return [row.id, csvField(row.plant.name), csvField(row.plant.tag)].join(',');
};

const MEDIA_TYPES = { ndjson: 'application/x-ndjson', csv: 'text/csv', json: 'application/json' };

/** @param isSpelledDifferently in a way that means the same */
export const toHttp = (
  request: Exclude<PlantRequest, { kind: 'wrong' }>,
  isSpelledDifferently = false,
): HttpRequest => {
  const space = isSpelledDifferently ? ' \n' : '';
  const json = (method: string, path: string, body: string, type = 'application/json') => ({
    method,
    path,
    headers: { 'Content-Type': type },
    body: `${space}${body}${space}`,
  });
  const plain = (method: string, path: string) => ({ method, path, headers: {} });
  switch (request.kind) {
    case 'create':
      return json('POST', '/plants', jsonOf(request.id, request.plant));
    case 'replace':
      return json('PUT', `/plants/${request.id}`, JSON.stringify(request.plant));
    case 'patch': {
      const type = isSpelledDifferently ? 'application/json' : 'application/merge-patch+json';
      return json('PATCH', `/plants/${request.id}`, JSON.stringify(request.change), type);
    }
    case 'read':
      return plain(request.isHead ? 'HEAD' : 'GET', `/plants/${request.id}`);
    case 'remove':
      return plain('DELETE', `/plants/${request.id}`);
    case 'list':
      return plain('GET', request.url ?? `/plants${queryOf(request.filter, { limit: request.limit })}`);
    case 'export':
      return plain('GET', `/plants/export${queryOf(request.filter, { format: request.format })}`);
    case 'many': {
      const { change, filter, limit, dryRun } = request;
      const path = `/plants${queryOf(filter, { limit, dryRun })}`;
      return change ? json('PATCH', path, JSON.stringify(change)) : plain('DELETE', path);
    }
    case 'import': {
      const { onConflict, mode, maxErrors } = request;
      const options = { onConflict, maxErrors, ...(mode && { [mode]: true }) };
      const type = MEDIA_TYPES[request.format];
      return { ...json('POST', `/plants/import${queryOf({}, options)}`, '', type), body: fileOf(request).text };
    }
  }
};

const queryOf = ({ tag, q, ids = [] }: Filter, more: Record<string, unknown>): string => {
  const given = Object.entries({ ...more, tag, q }).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams([
    ...given.map(([name, value]) => [name, `${value}`]),
    ...ids.map((id) => ['id', id]),
  ]);
  return query.size > 0 ? `?${query}` : '';
};
