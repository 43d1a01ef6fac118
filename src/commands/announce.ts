import { print } from './print.ts';

/** A `curl` line that stores a plant; its id is the time, so that it is a new one each time that this is printed. */
export const curlLine = (baseUrl: string, token: string): string =>
  `curl ${baseUrl}/plants -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' ` +
  `-d '{"id": ${Date.now()}, "name": "Fir", "tag": "Abies"}'`;

/**
 * Tells who started the store by hand where it is and how to use it. Without waiting: a store whose output nobody takes
 * serves all the same.
 */
export const announce = (baseUrl: string, token: string | undefined): void => {
  const how = token
    ? `The access token of this machine:\n\n  ${token}\n\nStore a plant:\n\n  ${curlLine(baseUrl, token)}\n\nRead about it and try it in a browser:\n\n  ${baseUrl}/docs\n`
    : 'The access token of this machine was revoked or has expired. Make one: npx plant-store token create --name NAME\n';
  print(`\nPlant Store listens on ${baseUrl}\n\n${how}\n`).catch(() => {});
};
