import { z } from 'zod';

/** A variable of one of these words. */
const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words, fallback: Words[number]) =>
  z
    .enum(words)
    .default(fallback)
    .describe(`one of ${words.join(', ')}`);

/** A variable that is a whole number, said with its unit and range. */
const wholeNumber = (unit: string, minimum: number, maximum: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum)
    .default(fallback)
    .describe(`${unit}, ${minimum} to ${maximum}`);

const variables = z.object({
  NODE_ENV: oneOf(['development', 'test', 'production'], 'development'),
  HOST: z.string().default('127.0.0.1').describe('an address to listen on'),
  PORT: wholeNumber('a TCP port', 0, 65_535, 3000),
  BASE_PATH: z
    .string()
    .regex(/^(\/[\w.~-]+)*\/?$/)
    .transform((path) => path.replace(/\/$/, ''))
    .default('')
    .describe('a path such as /api/v1'),
  DATABASE_URL: z
    .string()
    .refine((text) => /^postgres(ql)?:$/.test(URL.parse(text)?.protocol ?? ''))
    .optional()
    .describe('a URL such as postgresql://user:password@host:5432/database'),
  DATABASE_CONNECTIONS: wholeNumber('a number of connections', 1, 1000, 10),
  DATA_DIR: z.string().default('.data').describe('a folder'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
  LOG_FORMAT: oneOf(['auto', 'json', 'pretty'], 'auto'),
  BODY_LIMIT: wholeNumber('a number of bytes', 1, 1_073_741_824, 1_048_576),
  QUEUE_LIMIT: wholeNumber('a number of plants', 1, 1_000_000, 10_000),
  REQUEST_TIMEOUT: wholeNumber('a number of seconds', 1, 3600, 10),
  SHUTDOWN_TIMEOUT: wholeNumber('a number of seconds', 1, 3600, 10),
  WORKERS: z
    .string()
    .regex(/^(auto|[1-9]\d{0,2})$/)
    .transform((text) => (text === 'auto' ? text : Number(text)))
    .default(1)
    .describe('a number of processes, 1 to 999, or auto'),
});

type VariableName = keyof typeof variables.shape;

/** The names of the variables that `readConfig` reads. */
export const variableNames = Object.keys(variables.shape) as VariableName[];

/** The store's settings. Sizes are in bytes, times in milliseconds. */
export type Config = Readonly<{
  environment: 'development' | 'test' | 'production';
  host: string;
  port: number;
  basePath: string;
  databaseUrl: string | undefined;
  databaseConnections: number;
  dataDir: string;
  logLevel: string;
  logFormat: 'json' | 'pretty' | 'auto';
  bodyLimit: number;
  queueLimit: number;
  requestTimeout: number;
  shutdownTimeout: number;
  workers: number | 'auto';
}>;

/** The environment holds a value that the store cannot use; `message` has a line for every such variable. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Reads the settings from an environment. An empty variable counts as not set.
 * @throws {ConfigError} naming every wrong variable, what it is and what it should be
 */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const set = Object.fromEntries(
    variableNames.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const result = variables.safeParse(set);
  const wrong = new Set(result.error?.issues.map((issue) => issue.path[0] as VariableName));
  const lines = [...wrong].map((name) => `${name} is ${shown(name, set[name])} and should be ${expected(name)}`);
  if (set.NODE_ENV === 'production' && !set.DATABASE_URL) {
    lines.push(`DATABASE_URL is not set and should be ${expected('DATABASE_URL')}, because NODE_ENV is production`);
  }
  if (!result.success || lines.length > 0) throw new ConfigError(['The configuration is wrong:', ...lines].join('\n'));
  return toConfig(result.data);
};

const toConfig = (values: z.infer<typeof variables>): Config =>
  Object.freeze({
    environment: values.NODE_ENV,
    host: values.HOST,
    port: values.PORT,
    basePath: values.BASE_PATH,
    databaseUrl: values.DATABASE_URL,
    databaseConnections: values.DATABASE_CONNECTIONS,
    dataDir: values.DATA_DIR,
    logLevel: values.LOG_LEVEL,
    logFormat: values.LOG_FORMAT,
    bodyLimit: values.BODY_LIMIT,
    queueLimit: values.QUEUE_LIMIT,
    requestTimeout: values.REQUEST_TIMEOUT * 1000,
    shutdownTimeout: values.SHUTDOWN_TIMEOUT * 1000,
    workers: values.WORKERS,
  });

const expected = (name: VariableName) => variables.shape[name].description;

/** The URL of a database can carry a password, which belongs in no log and on no screen. */
const shown = (name: VariableName, value: unknown) => (name === 'DATABASE_URL' ? 'wrong' : JSON.stringify(value));
