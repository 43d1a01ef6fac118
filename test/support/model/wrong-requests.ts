import type { HttpRequest } from './requests.ts';

/** A request that is wrong in itself, and the response. */
export type WrongRequest = HttpRequest & { status: number; error: number };

const read = (path: string, error = 1005): WrongRequest => ({ method: 'GET', path, headers: {}, status: 400, error });

const write = (method: string, path: string, body: string, error: number, type = 'application/json'): WrongRequest => ({
  method,
  path,
  headers: { 'Content-Type': type },
  body,
  status: 400,
  error,
});

const refuse = (method: string, path: string): WrongRequest => ({
  method,
  path,
  headers: {},
  status: 405,
  error: 1202,
});

export const WRONG_REQUESTS: readonly WrongRequest[] = [
  read('/plants?page=2'),
  read('/plants?limit=0'),
  read('/plants?limit=1001'),
  read('/plants?q='),
  read('/plants?cursor=x'),
  read('/plants?id=1&id=x'),
  read('/plants/x'),
  read('/plants/01'),
  read('/plants/9223372036854775808'),
  read('/plants/1?x=1'),
  read('/plants/export?format=xml'),
  write('POST', '/plants', '{', 1000),
  write('POST', '/plants', '', 1000),
  write('POST', '/plants', '{"id":1,"name":"Fir"}', 1001, 'text/plain'),
  write('POST', '/plants', '[]', 1003),
  write('POST', '/plants', '{"name":"Fir"}', 1003),
  write('POST', '/plants', '{"id":1}', 1003),
  write('POST', '/plants', '{"id":"1","name":"Fir"}', 1003),
  write('POST', '/plants', '{"id":1.5,"name":"Fir"}', 1003),
  write('POST', '/plants', '{"id":9223372036854775808,"name":"Fir"}', 1003),
  write('POST', '/plants', '{"id":1,"name":"Fir","tag":null}', 1003),
  write('POST', '/plants', '{"id":1,"name":"\\u0000"}', 1003),
  write('PUT', '/plants/1', '{"tag":"Abies"}', 1003),
  write('PATCH', '/plants/1', '{"name":null}', 1003, 'application/merge-patch+json'),
  write('POST', '/plants/import?onConflict=ignore', '', 1005, 'text/csv'),
  write('POST', '/plants/import?page=2', '', 1005, 'text/csv'),
  write('POST', '/plants/import', 'name\nFir\n', 1003, 'text/csv'),
  refuse('PUT', '/plants'),
  refuse('POST', '/plants/1'),
];
