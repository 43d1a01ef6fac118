import { parseEnv } from 'node:util';
import { afterEach, expect, jest, test } from '@jest/globals';
import { Command } from 'commander';
import { readConfig, variableNames } from '../config/config.ts';
import { addConfigCommand } from './config-command.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const run = async (environment: Record<string, string>, fromFile: string[] = []) => {
  let printed = '';
  jest.spyOn(process.stdout, 'write').mockImplementation(((text: string, done: () => void) => {
    printed += text;
    done();
    return true;
  }) as typeof process.stdout.write);
  const program = new Command();
  addConfigCommand(program, { environment, fromFile });
  await program.parseAsync(['config'], { from: 'user' });
  return printed;
};

test('prints every setting in the form of a .env file', async () => {
  const printed = await run({});
  expect(printed.split('\n').map((line) => line.split('=')[0])).toEqual([...variableNames, '']);
  expect(readConfig(parseEnv(printed) as Record<string, string>)).toEqual(readConfig({}));
});

test('says where each comes from', async () => {
  const printed = await run({ PORT: '8080', WORKERS: 'auto', HOST: '' }, ['WORKERS']);
  expect(printed).toContain('\nHOST=127.0.0.1  # default\nPORT=8080  # environment\n');
  expect(printed).toContain('\nWORKERS=auto  # .env\n');
  expect(printed).toContain('\nIDEMPOTENCY_RETENTION=24h  # default\n');
});

test('quotes a value with a space or a line break', async () => {
  expect(await run({ DATA_DIR: '/a b#c\nPORT=1' })).toContain('\nDATA_DIR="/a b#c\\nPORT=1"  # environment\n');
});

test.each([
  ['DATABASE_URL', 'postgresql://owner:12%2Fsecret@db/x?schema=a', 'postgresql://owner:***@db/x?schema=a'],
  ['DATABASE_URL', 'POSTGRES://owner:a:secret@[::1]:5432', 'POSTGRES://owner:***@[::1]:5432'],
  ['DATABASE_URL', 'postgresql://owner:secret@/db?host=/run', 'postgresql://owner:***@/db?host=/run'],
  ['DATABASE_URL', 'postgresql://db/x?password=secret', 'postgresql://db/x?password=***'],
  ['DATABASE_URL', 'postgresql://db/x?sslmode=require&sslpassword=secret', '/x?sslmode=require&sslpassword=***'],
  ['DIRECT_URL', 'postgresql://owner:secret@db/x', 'postgresql://owner:***@db/x'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://secret@collector:4318', 'http://***@collector:4318'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'HTTPS://me:secret@collector', 'HTTPS://***@collector'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'https://collector/?key=secret&host=a', 'https://collector/?key=***&host=a'],
  ['AUTH_JWKS_URL', 'https://login.example/keys?token=secret', 'https://login.example/keys?token=***'],
])('hides a secret in %s=%s', async (name, value, shown) => {
  const others = {
    DATABASE_URL: 'postgresql://db/x',
    AUTH_ISSUER: 'a',
    AUTH_AUDIENCE: 'b',
    AUTH_JWKS_URL: 'https://a/',
  };
  const printed = await run({ ...others, [name]: value });
  expect(printed).toContain(`${shown}  # environment\n`);
  expect(printed).not.toContain('secret');
});

test('fails if a setting is wrong', async () => {
  await expect(run({ PORT: 'x' })).rejects.toThrow('The configuration is wrong:\nPORT is "x" and must be a TCP port');
});
