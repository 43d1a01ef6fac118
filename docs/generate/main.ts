import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openApiDocument } from '../../src/openapi-document.ts';
import { renderCommandLine } from './command-line.ts';
import { renderConfiguration, renderEnvExample } from './configuration.ts';
import { renderArchitecture } from './dependency-diagram.ts';
import { renderErrors } from './errors.ts';
import { renderLimits } from './limits.ts';
import { renderMetrics } from './metrics.ts';
import { renderOperations } from './operations.ts';

/**
 * Writes every file that is made from others and checked in. With --check it writes none, and prints those that are not current, without
 * the slow ones: the diagram, and the types of the client, whose packages it would have to download.
 */
process.chdir(resolve(import.meta.dirname, '..', '..'));

const files: Record<string, () => string | Promise<string>> = {
  'openapi.json': () => `${JSON.stringify(openApiDocument, null, 2)}\n`,
  '.env.example': renderEnvExample,
  'docs/reference/operations.md': renderOperations,
  'docs/reference/errors.md': renderErrors,
  'docs/reference/configuration.md': renderConfiguration,
  'docs/reference/limits.md': renderLimits,
  // Elsewhere the process has fewer metrics.
  ...(process.platform === 'linux' && { 'docs/reference/metrics.md': renderMetrics }),
  'docs/reference/command-line.md': renderCommandLine,
};

const [option] = process.argv.slice(2);
if (option === '--check') {
  for (const [path, render] of Object.entries(files))
    if (!existsSync(path) || readFileSync(path, 'utf8') !== (await render())) process.stdout.write(`${path}\n`);
} else {
  for (const [path, render] of Object.entries(files)) writeFileSync(path, await render());
  const architecture = 'docs/explanation/architecture.md';
  writeFileSync(architecture, renderArchitecture(architecture));
  execFileSync('npm', ['run', 'client'], { stdio: 'inherit' });
}
