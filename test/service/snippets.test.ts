import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import { snippets } from '../../src/plants/plant-openapi.ts';
import { testUnless } from '../support/skip.ts';
import { useTestServices } from '../support/use-test-service.ts';

const run = promisify(execFile);
const LARGEST = '9223372036854775807';

const start = useTestServices();

const COMMANDS: Record<keyof typeof snippets, [string, ...string[]]> = {
  curl: ['sh', '-c'],
  JavaScript: [process.execPath, '--input-type=module', '--eval'],
  Python: ['python3', '-c'],
};

const obstacleOf = (program: string) => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return `no ${program} found`;
  }
};

for (const language of ['curl', 'JavaScript', 'Python'] as const) {
  const [command, ...options] = COMMANDS[language];
  const obstacle = obstacleOf(language === 'curl' ? 'curl' : command);
  testUnless(obstacle, `the snippet in ${language} stores a plant with the largest id`, async () => {
    const service = await start();
    const code = snippets[language].replace('http://127.0.0.1:3000', service.baseUrl);
    const env = { ...process.env, ACCESS_TOKEN: service.token };
    const { stdout } = await run(command, [...options, code], { env });
    expect(stdout).toMatch(/Ginkgo/);
    expect(await service.stored(LARGEST)).toMatchObject({ id: LARGEST, name: 'Ginkgo' });
  });
}
