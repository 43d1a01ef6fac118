import type { Config } from '../config.ts';

/** The contract's `{base_url}` as this machine's own clients reach it. */
export const baseUrl = ({ host, port, basePath }: Pick<Config, 'host' | 'port' | 'basePath'>): string => {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[host] ?? (host.includes(':') ? `[${host}]` : host);
  return `http://${reachable}:${port}${basePath}`;
};
