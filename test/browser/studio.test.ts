import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { browserPath, launchBrowser, openPage, takeScreenshot } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { cleanEnvironment, projectFolder } from '../support/store-process.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

jest.setTimeout(240_000);

const IDS = ['9223372036854775807', '9007199254740993', '-9223372036854775808'];

if (browserPath) describe('Prisma Studio in a browser', describeStudio);
else {
  test('Prisma Studio is not tested, as there is no Chromium', () => {
    process.stderr.write('\nPrisma Studio is NOT tested in a browser: there is no Chromium here.\n');
  });
}

function describeStudio() {
  let browser: Browser;
  let service: TestService;
  let studio: Awaited<ReturnType<typeof startStudio>>;
  beforeAll(async () => {
    browser = await launchBrowser();
    service = await startTestService();
    studio = await startStudio(service.database.url);
  });
  afterAll(async () => {
    await studio.stop();
    await service.stop();
    await browser.close();
  });

  test('shows plants with the ids that they have, to the last digit', async () => {
    const names = ['Ginkgo', 'Fir', 'Oak'];
    for (const [index, id] of IDS.entries()) await service.post(`{"id": ${id}, "name": "${names[index]}"}`);
    const { page } = await openPage(browser, studio.url);
    await page.getByText('plants', { exact: true }).click();
    await page.getByText('Ginkgo', { exact: true }).waitFor();
    for (const id of IDS) expect(await page.getByText(id, { exact: true }).count()).toBe(1);
    await takeScreenshot(page, 'prisma-studio', 420);
    await page.close();
  });
}

/** Prisma Studio on a database, as `npm run studio` starts it. */
const startStudio = async (databaseUrl: string) => {
  const port = await freePort();
  const words = ['bin/plant-store.js', 'studio', '--browser', 'none', '--port', String(port)];
  const studio = spawn(process.execPath, words, {
    cwd: projectFolder,
    env: cleanEnvironment({ DATABASE_URL: databaseUrl }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(studio, 'exit');
  for await (const chunk of studio.stdout) if (String(chunk).includes(String(port))) break;
  const stop = async () => {
    studio.kill();
    await exited;
  };
  return { url: `http://localhost:${port}`, stop };
};
