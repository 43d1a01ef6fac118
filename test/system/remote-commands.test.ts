import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { killChildren } from '../support/children.ts';
import { describeUnless } from '../support/skip.ts';
import { runCommand, spawnWithInput } from '../support/store-process.ts';
import { makeTemporaryFolder, removeDataFolder } from '../support/temporary-folder.ts';
import { findObstacle, makeAuthority, makeCertificate } from '../support/tls-postgres.ts';
import { useTestService } from '../support/use-test-service.ts';
import { waitUntil } from '../support/wait-until.ts';

const service = useTestService();

describeUnless(await findObstacle(), 'a service behind a TLS proxy with a path prefix', () => {
  let folder: string;
  let proxy: Server;
  let environment: Record<string, string>;
  beforeAll(async () => {
    folder = makeTemporaryFolder();
    const authority = await makeAuthority(folder, 'authority');
    const certificate = join(folder, 'certificate');
    await makeCertificate(certificate, authority, 'localhost');
    proxy = createServer(
      { cert: readFileSync(certificate), key: readFileSync(`${certificate}.key`) },
      (incoming, response) => {
        const { url = '', method, headers } = incoming;
        const forwarded = request(`${service.baseUrl}${url.replace(/^\/prefix/, '')}`, { method, headers });
        incoming.pipe(forwarded);
        forwarded.on('response', (found) => found.pipe(response.writeHead(found.statusCode ?? 0, found.headers)));
      },
    );
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    environment = {
      PLANT_STORE_URL: `https://localhost:${(proxy.address() as AddressInfo).port}/prefix`,
      PLANT_STORE_TOKEN: service.token,
      NODE_EXTRA_CA_CERTS: authority,
    };
  });
  afterEach(killChildren);
  afterAll(() => {
    proxy.close();
    removeDataFolder(folder);
  });

  test('is used with its authority in NODE_EXTRA_CA_CERTS, and standard input', async () => {
    const command = spawnWithInput(['import', '-'], environment);
    if (!command.stdin || !command.stdout) throw new Error('no pipes');
    const exited = once(command, 'exit');
    command.stdin.end('{"id":1,"name":"Fir"}\n');
    expect(await text(command.stdout)).toMatch(/^1 created, /);
    expect((await exited)[0]).toBe(0);
    expect(await runCommand(['export'], environment)).toMatchObject({ code: 0, stdout: '{"id":1,"name":"Fir"}\n' });
  });

  test('is refused without, and the message says what to set', async () => {
    const { code, stderr } = await runCommand(['export'], { ...environment, NODE_EXTRA_CA_CERTS: '' });
    expect([code, stderr]).toEqual([1, expect.stringContaining('set NODE_EXTRA_CA_CERTS to a PEM file')]);
  });

  test('is refused once its certificate has expired', async () => {
    const certificate = join(folder, 'expired');
    await makeCertificate(certificate, join(folder, 'authority'), 'localhost', 0);
    const expired = createServer({ cert: readFileSync(certificate), key: readFileSync(`${certificate}.key`) });
    await once(expired.listen(0, '127.0.0.1'), 'listening');
    const PLANT_STORE_URL = `https://localhost:${(expired.address() as AddressInfo).port}`;
    let stderr = '';
    await waitUntil('its end', async () => {
      ({ stderr } = await runCommand(['export'], { ...environment, PLANT_STORE_URL }));
      return stderr.includes('expired');
    });
    expired.close();
    expect(stderr).toMatch(/ Renew its certificate, or set the clock of this machine\.\n$/);
  });

  test('is refused under a name that its certificate does not have', async () => {
    const url = environment.PLANT_STORE_URL?.replace('localhost', '127.0.0.1') ?? '';
    const { code, stderr } = await runCommand(['export'], { ...environment, PLANT_STORE_URL: url });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/altnames.* Use a host that its certificate names\.\n$/)]);
  });
});
