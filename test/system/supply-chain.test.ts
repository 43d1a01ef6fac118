import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

/** The benchmark and the client have their own packages. */
describe.each(['.', 'bench', 'client'])('the packages of %s', (folder) => {
  const manifest = read(`${folder}/package.json`);
  const { '': root, ...packages } = read(`${folder}/package-lock.json`).packages as Record<
    string,
    { version: string; integrity?: string; resolved?: string; link?: true; hasInstallScript?: true }
  >;

  test('have exact versions from a registry, no ranges, tags or URLs', () => {
    const { optionalDependencies } = folder === '.' ? read('binaries/package.json') : manifest;
    const { dependencies, devDependencies, overrides } = manifest;
    const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies, ...overrides });
    expect(versions.length).toBeGreaterThan(0);
    const others = versions.filter(
      ([, version]) => !/^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/.test(String(version)),
    );
    expect(others).toEqual(folder === '.' ? [['plant-store-binaries', 'file:binaries']] : []);
  });

  test('are locked with a SHA-512 each and without URLs', () => {
    const locked = Object.entries(packages).filter(([path, { link }]) => !link && path !== 'binaries');
    expect(locked.length).toBeGreaterThan(0);
    expect(locked.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))).toEqual([]);
    expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
    expect(root).toMatchObject({ dependencies: manifest.dependencies });
  });

  test('run no install scripts; allowScripts lists every package that has one', () => {
    // `npm pack` would not run `prepack` either (docs/decisions/0064).
    if (folder === '.') {
      expect(readFileSync('bin/prepare.js', 'utf8')).toMatch(/'ci .*--ignore-scripts /);
      expect(readFileSync('Dockerfile', 'utf8')).not.toMatch(/npm (ci|install) (?!--ignore-scripts)/);
    } else expect(readFileSync(`${folder}/.npmrc`, 'utf8')).toMatch(/^ignore-scripts=true$/m);
    const named = Object.entries<boolean>(manifest.allowScripts ?? {});
    expect(named.filter(([, isAllowed]) => isAllowed)).toEqual([]);
    const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
    const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect(names.filter((name) => !(name in (manifest.allowScripts ?? {})))).toEqual([]);
  });
});
