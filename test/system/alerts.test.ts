import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { describeUnless } from '../support/skip.ts';
import { useDataFolder } from '../support/use-data-folder.ts';

const promtool = (...words: string[]) => spawnSync('promtool', words, { encoding: 'utf8' });
const obstacle = promtool('--version').error && 'promtool is not installed (Debian: prometheus)';

describeUnless(obstacle, 'the rules for Prometheus', () => {
  const folder = useDataFolder();

  test('are valid', () => {
    expect(promtool('check', 'rules', 'deploy/prometheus/alerts.yml')).toMatchObject({ status: 0 });
  });

  test('fire for what deploy/prometheus/alerts.test.yml says, and for nothing else', () => {
    expect(promtool('test', 'rules', 'deploy/prometheus/alerts.test.yml')).toMatchObject({ status: 0 });
  });

  test('that count imports as slow requests, as they once did, fail this test', () => {
    cpSync('deploy/prometheus', folder.path, { recursive: true });
    const file = join(folder.path, 'alerts.yml');
    const rules = readFileSync(file, 'utf8');
    writeFileSync(file, rules.replace('|/plants/import|/plants/export', ''));
    const { status, stderr } = promtool('test', 'rules', join(folder.path, 'alerts.test.yml'));
    expect([status, stderr]).toEqual([1, expect.stringContaining('PlantStoreSlow')]);
  });
});
