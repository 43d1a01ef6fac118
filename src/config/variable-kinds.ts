import ipaddr from 'ipaddr.js';
import { z } from 'zod';

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** @returns a duration such as `500ms`, `45m` or `30d` in ms; undefined if the text is not a duration. A number alone means seconds. */
export const parseDuration = (text: string): number | undefined => {
  const [, count, unit = 's'] = /^(\d{1,10})(ms|[smhdw])?$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
};

export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words, fallback: Words[number]) =>
  z
    .enum(words)
    .default(fallback)
    .describe(`one of ${words.join(', ')}`);

export const digits = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum);

/** A whole number in a range; `unit` describes it. */
export const wholeNumber = (unit: string, minimum: number, maximum: number, fallback: number) =>
  digits(minimum, maximum).default(fallback).describe(`${unit}, ${minimum} to ${maximum}`);

const DURATION = 'a number of seconds, or a number with a unit (ms, s, m, h, d)';

/** A duration in a range, in ms. */
export const duration = (minimum: string, maximum: string, fallback: string) =>
  z
    .string()
    .transform((text) => parseDuration(text) ?? Number.NaN)
    .refine((value) => value >= Number(parseDuration(minimum)) && value <= Number(parseDuration(maximum)))
    .prefault(fallback)
    .describe(`a duration from ${minimum} to ${maximum}: ${DURATION}`);

/**
 * Whether a URL can be read in one way only. A password with an unencoded `/`, `?` or `#` ends the authority too early, and its rest
 * would become a part of the path or query, which messages show. A `:` is allowed in a password (RFC 3986 §3.2.1).
 */
const isUnambiguousUrl = (text: string, scheme: RegExp): boolean => {
  const [, name = '', hierarchy = ''] = /^([a-z]+):\/\/(.*)$/is.exec(text) ?? [];
  const isPlain = /^([^\s/?#@:\\]*(:[^\s/?#@\\]*)?@)?[^\s/?#@\\]*([/?][^@#]*)?$/.test(hierarchy);
  return scheme.test(name) && isPlain && isDecodable(text) && URL.canParse(text);
};

const isDecodable = (text: string) => {
  try {
    // NUL would end a value in the messages to PostgreSQL.
    return !decodeURIComponent(text).includes('\0');
  } catch {
    return false;
  }
};

/** `postgresql://user:password@/database?host=/run/postgresql` is one for PostgreSQL, but not for `URL`. */
const withHost = (text: string) => text.replace(/^([a-z]+:\/\/[^/?#@]*@)(?=(\/[^?]*)?\?(.*&)?host=)/i, '$1localhost');

/** The driver would look for a host of the name `a,b`, and ignore `target_session_attrs`. */
const SEVERAL_HOSTS =
  /:\/\/([^/?@]*@)?[^/?@]*,[^/?@]*([/?]|$)|[?&](target_session_attrs=|(host|port)=[^&]*(,|%2c)|host=.*&host=)/i;

/** What other drivers call `?schema=` and the path of the URL, or read both from. This one would ignore it. */
const OTHER_NAME = /[?&](search_?path|current_?schema|dbname|service)=/i;

/** The driver leaves these characters of the database's name encoded. */
const isNamePossible = (text: string): boolean => !/%(2[346bcf]|3[abdf]|40)/i.test(new URL(text).pathname);

/** What other drivers call `?sslmode=`. */
const OTHER_SSL_MODE = /^(ssl[-_]mode|sslaccept|requiressl|use_?ssl|encrypt|tls)/i;

/** PostgreSQL reserves names with this beginning, and would cut longer ones. */
const isSchemaPossible = (text: string): boolean => {
  const schema = new URL(text).searchParams.get('schema') ?? '';
  return !schema.startsWith('pg_') && Buffer.byteLength(schema) <= 63;
};

/** What the driver knows, and libpq's `allow`. It takes any other for no encryption in PGSSLMODE, and for `verify-full` in a URL. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** With parameters that the driver would ignore or misread, so that it might not encrypt. */
const isTlsMisspelled = (text: string): boolean =>
  [...new URL(text).searchParams].some(
    ([name, value]) =>
      OTHER_SSL_MODE.test(name) ||
      (/^ssl/i.test(name) && (name !== name.toLowerCase() || value === '')) ||
      (name === 'sslmode' && !SSL_MODES.includes(value)),
  );

const SYSTEM_AUTHORITIES = /([?&])sslrootcert=system(?=&|$)/;

/** The driver takes `system` for a file (see src/main.ts), and the last `sslmode` counts. */
const withSystemAuthorities = (text: string): string =>
  SYSTEM_AUTHORITIES.test(text)
    ? text.replace(/([?&])sslmode=[^&]*/g, '$1').replace(SYSTEM_AUTHORITIES, '$1sslmode=verify-full')
    : text;

/** The driver takes these for `verify-full`, and warns at each start that its next version will not. */
const withCertificate = (text: string): string =>
  /[?&]uselibpqcompat=true(&|$)/.test(text)
    ? text
    : text.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full');

/** Null: there is none. Other programs take `1` and `yes` for `true`, which must not be ignored. */
const pgbouncerOf = (text: string) => URL.parse(text)?.searchParams.get('pgbouncer') ?? null;

/** A URL of PostgreSQL, or of a pooler (`pgbouncer=true`) if that is allowed. */
export const databaseUrl = ({ mayBePooled }: { mayBePooled: boolean }) =>
  z
    .string()
    .transform(withHost)
    .refine((text) => isUnambiguousUrl(text, /^postgres(ql)?$/i))
    .refine((text) => (mayBePooled ? [null, 'true', 'false'] : [null, 'false']).includes(pgbouncerOf(text)))
    .refine((text) => !SEVERAL_HOSTS.test(text) && !OTHER_NAME.test(text))
    .refine((text) => URL.canParse(text) && !isTlsMisspelled(text) && isSchemaPossible(text) && isNamePossible(text))
    // The driver cannot read every URL with spaces in its query.
    .transform((text) => new URL(withCertificate(withSystemAuthorities(text))).href)
    .optional()
    .describe(
      `a URL such as postgresql://user:password@host:5432/database${mayBePooled ? '' : ', without pgbouncer=true'}. In the user and ` +
        'the password, characters such as / ? # % @ and spaces must be percent-encoded (/ is %2F, @ is %40); the name of the database has ' +
        'none of / ? # @. There must be one host, no service and no target_session_attrs: for several servers, use an address that leads ' +
        'to the primary, such as that of a proxy. A schema is named by ?schema= (at most 63 bytes, and not pg_…), and TLS by ?sslmode=, in lower ' +
        `case: ${SSL_MODES.join(', ')}${mayBePooled ? '; a pooler by ?pgbouncer=true, which may also be false' : ''}`,
    );

/** A URL of a service that is called over HTTP. Platforms that export over gRPC set one without a scheme. */
export const httpUrl = (example: string) =>
  z
    .string()
    .transform((text) => (/^([\w.-]+|\[[\da-f:.]+\]):\d+$/i.test(text) ? `http://${text}` : text))
    .refine((text) => isUnambiguousUrl(text, /^https?$/i))
    .optional()
    .describe(`a URL such as ${example}`);

/** Host names of this machine, as URLs have them. */
export const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** A URL whose responses can be trusted: over TLS, or on this machine. */
export const trustedUrl = (example: string) =>
  z
    .string()
    .refine((text) => {
      const { protocol, hostname, username, password } = URL.parse(text) ?? {};
      // fetch refuses a URL with a user or password, and its error shows both.
      if (!isUnambiguousUrl(text, /^https?$/i) || username || password) return false;
      return protocol === 'https:' || LOOPBACK.test(hostname ?? '');
    })
    .optional()
    .describe(`an https URL such as ${example}, or an http URL on this machine, without user and password`);

const listOf = (isValid: (text: string) => boolean) =>
  z
    .string()
    .transform((text) => text.split(',').map((item) => item.trim()))
    .refine((items) => items.every(isValid));

/** Origins (RFC 6454 §6.2), written exactly as browsers send them. */
export const origins = () =>
  listOf((text) => /^https?:[^*]+$/.test(text) && URL.parse(text)?.origin === text)
    .default([])
    .describe('comma-separated origins such as https://garden.example.com');

const NAMED_RANGES = ['loopback', 'linklocal', 'uniquelocal'];

const { IPv4, IPv6 } = ipaddr;

/** An address, or a range with a prefix other than 0, which would trust everyone. */
const isAddressRange = (text: string) =>
  text.includes('/')
    ? (IPv4.isValidCIDRFourPartDecimal(text) || IPv6.isValidCIDR(text)) && !/\/0+$/.test(text)
    : IPv4.isValidFourPartDecimal(text) || IPv6.isValid(text);

/** The proxies in front of the service: their number, or their addresses (https://expressjs.com/en/guide/behind-proxies.html). */
export const proxies = () =>
  z
    .union([
      z.string().regex(/^\d$/).transform(Number),
      listOf((text) => NAMED_RANGES.includes(text) || isAddressRange(text)),
    ])
    .default(0)
    .describe('a number of proxies, 0 to 9, or their comma-separated addresses, such as 10.0.0.0/8, loopback');

/** A week, in seconds. */
const MAX_WINDOW = 604_800;

/** A number of requests per duration, which RateLimit headers give in whole seconds. */
export const rate = () =>
  z
    .string()
    .regex(/^[1-9]\d{0,6}\/\w+$/)
    .transform((text) => text.split('/'))
    .transform(([requests, window = '']) => ({
      requests: Number(requests),
      seconds: Number(parseDuration(window)) / 1000,
    }))
    .refine(({ seconds }) => Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_WINDOW)
    .optional()
    .describe(`requests/duration such as 600/60 or 600/1m, with a duration from 1s to 7d: ${DURATION}`);
