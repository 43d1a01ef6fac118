import type { Config } from '../config/config.ts';
import { print } from './output.ts';

/** The base URL for clients on this machine. */
export const baseUrl = ({ host, port, basePath }: Pick<Config, 'host' | 'port' | 'basePath'>): string => {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${reachable}:${port}${basePath}`;
};

/** A `curl` command that stores a plant. Its id is the current time, so each printed command has a new one. */
export const curlLine = (baseUrl: string, token: string): string =>
  `curl ${baseUrl}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' ` +
  `-d '{"id": ${Date.now()}, "name": "Fir", "tag": "Abies"}'`;

/** Prints how to use the service. Does not wait, so that the service runs even if nobody reads its output. */
export const announce = (baseUrl: string, token: string | undefined): void => {
  const usage = token
    ? `Access token:\n\n  ${token}\n\nStore a plant:\n\n  ${curlLine(baseUrl, token)}\n\nAPI documentation:\n\n  ${baseUrl}/docs\n`
    : 'The access token of this machine was revoked or has expired. Create one (npx plant-store in a clone): plant-store token create --name NAME\n';
  print(`\nPlant Store listens on ${baseUrl}\n\n${usage}\n`).catch(() => {});
};
