import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { versionOf } from './command.ts';
import { storeVersion } from './store.ts';

const GIBIBYTE = 1024 ** 3;

export type Machine = { cpu: string; cores: number; memoryGib: number; system: string };

export const readMachine = (): Machine => ({
  cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
  cores: availableParallelism(),
  memoryGib: Math.round(totalmem() / GIBIBYTE),
  system: `${process.platform} ${release()} ${process.arch}`,
});

/** For file names: `amd-epyc-2-cores`. */
export const machineSlug = ({ cpu, cores }: Machine): string =>
  `${cpu} ${cores} cores`
    .toLowerCase()
    .replaceAll(/\((r|tm)\)|@.*hz/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-');

const installedVersion = (name: string): string => {
  try {
    const file = join(import.meta.dirname, 'node_modules', name, 'package.json');
    return JSON.parse(readFileSync(file, 'utf8')).version;
  } catch {
    return 'not installed';
  }
};

/** What took part, by name; package versions are those that are installed. */
export const readVersions = async (loadGenerator: string): Promise<Record<string, string>> => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, 'package.json'), 'utf8'));
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  return {
    'plant-store': storeVersion() ?? 'not there',
    node: process.versions.node,
    'load generator': loadGenerator,
    pgbench: (await versionOf('pgbench', '--version'))?.replace(/^pgbench \(PostgreSQL\) /, '') ?? 'not installed',
    ...Object.fromEntries(packages.map((name) => [name, installedVersion(name)])),
  };
};
