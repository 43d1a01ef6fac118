import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { readConfig, variableNames } from '../../src/config/config.ts';
import { checkComposeFile, composeObstacle } from '../support/containers.ts';
import { testUnless } from '../support/skip.ts';

type Service = {
  image?: string;
  environment: Record<string, unknown>;
  ports?: string[];
  profiles?: string[];
  stop_grace_period: string;
};

test('docker-compose.yml passes on every setting, except for those that it sets', () => {
  const decided = [
    'NODE_ENV',
    'HOST',
    'DATABASE_URL',
    'DATA_DIR',
    'DIRECT_URL',
    'EMBEDDED_WAL_LEVEL',
    'METRICS_HOST',
    'SHUTDOWN_DELAY',
    'SHUTDOWN_TIMEOUT',
  ];
  const file = readFileSync('docker-compose.yml', 'utf8');
  const passedOn = variableNames.filter((name) => file.includes(` ${name}: \${${name}:-`));
  expect([...decided, ...passedOn].sort()).toEqual([...variableNames].sort());
});

test('docker-compose.yml needs no variable', () => {
  const withDefaults = readFileSync('docker-compose.yml', 'utf8').replaceAll(/\$\{\w+:-[^}]*\}/g, '');
  expect(withDefaults).not.toContain('$');
});

describe('Compose accepts', () => {
  const files = globSync(['docker-compose.yml', 'deploy/**/*compose*.yml']);

  test('these files', () => expect(files.sort()).toEqual(['deploy/citus/compose.yml', 'docker-compose.yml']));

  for (const file of files) {
    const { services } = parse(readFileSync(file, 'utf8'), { merge: true });
    test(`${file} publishes ports on this machine only, unless PUBLISH_ADDRESS says otherwise`, () => {
      const ports = Object.values<Service>(services).flatMap(({ ports = [] }) => ports);
      expect(ports.length).toBeGreaterThan(0);
      for (const port of ports) expect(port).toMatch(/^(127\.0\.0\.1|\$\{PUBLISH_ADDRESS:-127\.0\.0\.1\}):/);
    });
    const profiles = Object.values<Service>(services).flatMap(({ profiles = [] }) => profiles);
    for (const profile of new Set(['', ...profiles])) {
      testUnless(composeObstacle, `${file} ${profile && `with the profile ${profile}`}`, async () => {
        await checkComposeFile(file, profile ? [profile] : []);
      });
    }
  }
});

describe('docker-compose.yml', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });

  test('runs the service without privileges, and in a way that it can be stopped', () => {
    const ours = Object.values<Service>(services).filter(({ image }) => image === services.store.image);
    expect(ours.length).toBeGreaterThan(3);
    const hardened = { init: true, read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] };
    for (const service of ours) expect(service).toMatchObject(hardened);
  });

  test('starts nothing if the migration fails', () => {
    expect(services.prepare.entrypoint).toEqual(['sh', '-ec']);
  });

  test('gives the store more time to stop than it takes', () => {
    expect(Number.parseInt(services.store.stop_grace_period, 10) * 1000).toBeGreaterThan(
      readConfig({}).shutdownTimeout,
    );
  });
});

test('the image is healthy only if it is ready', () => {
  expect(readFileSync('Dockerfile', 'utf8')).toMatch(/^HEALTHCHECK .*\n.*\/readyz`/m);
});

describe('the profile replicas', () => {
  const { services } = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });
  const replicas = Object.entries<Service>(services).filter(([name]) => /^store-\d$/.test(name));

  test('has the stores that haproxy.cfg names, of which only HAProxy is published', () => {
    const config = readFileSync('deploy/haproxy/haproxy.cfg', 'utf8');
    const named = [...config.matchAll(/^ {2}server (\S+) "\$\{(\w+)\}"$/gm)];
    expect(named.map(([, store, variable]) => [store, services.haproxy.environment[variable ?? '']])).toEqual(
      replicas.map(([name]) => [name, `${name}:\${PORT:-3000}`]),
    );
    for (const [, { environment, ports }] of replicas) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Compose
      expect(environment).toMatchObject({ TRUST_PROXY: '${TRUST_PROXY:-1}' });
      expect(ports).toBeUndefined();
    }
  });

  test('lets stores serve until HAProxy has noticed that they stop, and twice as long', () => {
    const config = readFileSync('deploy/haproxy/haproxy.cfg', 'utf8');
    const [, interval, failures] = /check inter (\d+)ms fall (\d+)/.exec(config) ?? [];
    for (const [, { environment }] of replicas)
      expect(Number(environment.SHUTDOWN_DELAY) * 1000).toBeGreaterThan(2 * Number(interval) * Number(failures));
  });

  test('gives the stores more time to stop than they take', () => {
    for (const [, { environment, stop_grace_period: grace }] of replicas)
      expect(Number.parseInt(grace, 10)).toBeGreaterThan(Number(environment.SHUTDOWN_DELAY) + 10);
  });
});
