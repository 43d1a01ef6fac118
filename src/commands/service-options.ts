import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { LOOPBACK } from '../config/variable-kinds.ts';
import { OperationalError } from '../errors.ts';
import { parseFile } from './option-parsers.ts';
import type { RemoteService } from './remote-service.ts';

export type CommandSettings = { config: () => Config; environment: NodeJS.ProcessEnv };

export const addServiceOptions = (command: Command): Command =>
  command
    .option(
      '--url <url>',
      'use the service at this URL, with its base path, instead of the database (default: PLANT_STORE_URL). Its token is in PLANT_STORE_TOKEN',
    )
    .option('--token-file <file>', 'read the access token for --url from a file', parseFile);

/** The message of a wrong URL does not repeat it, because it may contain a password or a token. */
const parseServiceUrl = (command: Command, source: string, text: string): string => {
  const url = URL.parse(text);
  const isService = url && /^https?:$/.test(url.protocol) && !/[?#]/.test(text) && !`${url.username}${url.password}`;
  if (isService) return url.href.replace(/\/+$/, '');
  return command.error(
    `error: ${source} is invalid. It must be a URL such as https://plants.example.com/api, without a token or a query.`,
  );
};

/** @returns undefined if the command is to use the database. @throws {OperationalError} there is no token */
export const serviceOf = (command: Command, environment: NodeJS.ProcessEnv): RemoteService | undefined => {
  const { url: option, tokenFile } = command.opts<{ url?: string; tokenFile?: string }>();
  // Only an empty variable is not set: an empty option may come from a shell variable that is missing.
  const given = option ?? (environment.PLANT_STORE_URL || undefined);
  if (given === undefined)
    return tokenFile === undefined ? undefined : command.error('error: --token-file needs --url');
  const url = parseServiceUrl(command, option === undefined ? 'PLANT_STORE_URL' : '--url', given);
  const [text, source] =
    tokenFile === undefined
      ? [environment.PLANT_STORE_TOKEN ?? '', 'PLANT_STORE_TOKEN']
      : [readTokenFile(tokenFile), tokenFile];
  const token = text.trim();
  // RFC 6750 §2.1.
  if (/^[\w.~+/-]+=*$/.test(token)) return { url, token, agent: agentFor(new URL(url), environment) };
  const wrong = token === '' ? 'has no access token' : 'must be an access token and nothing else';
  throw new OperationalError(
    `${source} ${wrong}. Set PLANT_STORE_TOKEN, or name a file that has it: --token-file FILE.`,
  );
};

/** Connects by the proxy of HTTPS_PROXY or HTTP_PROXY, except to this machine and the hosts of NO_PROXY. */
const agentFor = ({ protocol, hostname }: URL, environment: NodeJS.ProcessEnv): http.Agent => {
  const { Agent } = protocol === 'https:' ? https : http;
  // Not the global agent, which uses the proxy for this machine too if NODE_USE_ENV_PROXY is set.
  if (LOOPBACK.test(hostname)) return new Agent();
  try {
    return new Agent({ proxyEnv: environment });
  } catch {
    // The error has the URL, and so the password.
    throw new OperationalError(
      'HTTPS_PROXY or HTTP_PROXY is invalid. It must be a URL such as http://proxy.example.com:3128. Percent-encode a user and password.',
    );
  }
};

const readTokenFile = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OperationalError(`The token cannot be read: ${(error as Error).message}.`);
  }
};
