import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { versionOf } from '../processes/command.ts';
import { storeVersion } from '../processes/store.ts';

const GIBIBYTE = 1024 ** 3;
const root = join(import.meta.dirname, '..');

export type Machine = { cpu: string; cores: number; memoryGib: number; system: string };

export const readMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
  cores: availableParallelism(),
  memoryGib: Math.round(totalmem() / GIBIBYTE),
  system: `${process.platform} ${release()} ${process.arch}`,
});

/** The versions of everything that takes part. Package versions are the installed ones. */
export const readVersions = async (loadGenerator: string): Promise<Record<string, string>> => {
  const { dependencies, optionalDependencies } = readManifest(root) ?? {};
  const packages = Object.keys({ ...dependencies, ...optionalDependencies });
  const installed = packages.map((name) => [name, readManifest(join(root, 'node_modules', name))?.version]);
  return {
    'plant-store': storeVersion(),
    node: process.versions.node,
    'load generator': loadGenerator,
    pgbench: await postgresToolVersion('pgbench'),
    psql: await postgresToolVersion('psql'),
    ...Object.fromEntries(installed.map(([name, version]) => [name, version ?? 'not installed'])),
  };
};

const postgresToolVersion = async (name: string): Promise<string> =>
  (await versionOf(name))?.replace(/^\w+ \(PostgreSQL\) /, '') ?? 'not installed';

const readManifest = (folder: string) => {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
};
