import fc from 'fast-check';
import { idText } from './json-bodies.ts';

/** Request lines and header fields: mostly valid. */

/** A placeholder for the token, which is unknown when requests are generated and must not be printed. */
export const TOKEN = 'THE-TOKEN-OF-THIS-STORE';

export const token = fc.oneof(
  { weight: 8, arbitrary: fc.constant(`Authorization: Bearer ${TOKEN}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'X-None: 1',
      'Authorization: Bearer',
      'Authorization: Basic eDp5',
      `Authorization: bearer   ${TOKEN} `,
      `Authorization: Bearer ${TOKEN}x`,
      `Authorization: Bearer plant_${'x'.repeat(43)}`,
      `Authorization: Bearer ${'x'.repeat(4000)}`,
      `Authorization: Bearer ${TOKEN}\r\nAuthorization: Bearer x`,
    ),
  },
);

export const mediaType = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('application/json', 'application/merge-patch+json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'application/json; charset=utf-8',
      'application/json; charset=utf-16',
      'application/json;;;',
      'text/plain',
      'multipart/form-data; boundary=x',
      '',
      `application/json; x="${'\\"'.repeat(500)}"`,
    ),
  },
);

const ids = fc.oneof(
  { weight: 3, arbitrary: idText },
  {
    weight: 1,
    arbitrary: fc.constantFrom('9223372036854775808', '1.0', '1e3', '%31', '01', '-0', 'x', '', '%zz', '%00', '..'),
  },
);

const query = fc.array(
  fc
    .tuple(
      fc.constantFrom('limit', 'cursor', 'tag', 'q', '__proto__', 'limit[]'),
      fc.oneof(fc.constantFrom('1', '0', '-1', '1e9', '%', '%ff', '%00', '%ed%a0%80', ''), fc.string({ maxLength: 9 })),
    )
    .map(([name, content]) => `${name}=${content.replaceAll(/[^!-~]/g, '+')}`),
  { maxLength: 4 },
);

export const path = fc.oneof(
  { weight: 6, arbitrary: fc.constant('/plants') },
  { weight: 5, arbitrary: ids.map((id) => `/plants/${id}`) },
  { weight: 2, arbitrary: query.map((parameters) => `/plants?${parameters.join('&')}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...['/', '//', '//plants', '/plants/', '/Plants', '/plants/../plants', '/./plants', '/plants;x=1', '/%70lants'],
      ...['/plants%00', '/plants%2f1', '/%', '/%ff', '/livez', '/readyz', 'http://x/plants', 'http://', 'x:80', '*'],
      ...['/plants?limit=5', '/plants?limit=-1&limit=x', '/plants?cursor=%00', '/plants?a[b]=c&__proto__[x]=1', '/?#'],
      ...['/__proto__', '/constructor', '/plants/__proto__', `/${'a/'.repeat(3000)}`, `/plants?${'x=1&'.repeat(2000)}`],
      ...['/openapi.json', '/docs', '/docs/..%2f..%2fpackage.json', '/docs/../../package.json', '/metrics', '/events'],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'binary', maxLength: 20 }).map((text) => `/${encodeURI(text.toWellFormed())}`),
  },
);

export const method = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('POST', 'PUT', 'PATCH') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'GET',
      'GET',
      'HEAD',
      'DELETE',
      'DELETE',
      'OPTIONS',
      'TRACE',
      'QUERY',
      'PROPFIND',
      'M-SEARCH',
    ),
  },
);

export const extraHeader = fc.oneof(
  fc.constantFrom(
    ...['Expect: 100-continue', 'Expect: tea', 'Upgrade: websocket', 'Connection: Upgrade', 'Connection: keep-alive'],
    ...['X-Request-Id: a b', 'X-Request-Id: ../../x', `X-Request-Id: ${'x'.repeat(500)}`, 'X-Forwarded-For: 1.2.3.4'],
    ...[
      'X-HTTP-Method-Override: DELETE',
      'Cookie: a=b',
      'If-Match: *',
      'If-None-Match: "x"',
      'If-Match: "',
      'Range: bytes=0-',
    ],
    ...[
      'Idempotency-Key: x',
      'Idempotency-Key: ""',
      'Prefer: return=minimal',
      'Accept: text/html',
      'Accept-Encoding: gzip',
    ],
    ...[
      'Origin: null',
      'Origin: https://x.example',
      'Last-Event-ID: 9',
      'traceparent: 00-0-0-0',
      `X: ${'x'.repeat(9000)}`,
    ],
    ...['__proto__: x', 'constructor: x', 'Host: y', 'Trailer: Host', 'TE: trailers', 'Content-Language: \xff\xfe'],
  ),
  fc
    .tuple(fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/), fc.stringMatching(/^[\x20-\x7e\x80-\xff]{0,40}$/))
    .map(([name, value]) => `x-${name}: ${value}`),
);
