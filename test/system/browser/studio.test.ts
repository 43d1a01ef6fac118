import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { browserObstacle, launchBrowser, openPage, takeScreenshot } from '../../support/browser.ts';
import { killChildren } from '../../support/children.ts';
import { describeUnless } from '../../support/skip.ts';
import { startStudio } from '../../support/studio.ts';
import { useTestService } from '../../support/use-test-service.ts';

jest.setTimeout(240_000);

const IDS = ['9223372036854775807', '9007199254740993', '-9223372036854775808'];

describeUnless(browserObstacle, 'Prisma Studio in a browser', () => {
  let browser: Browser;
  let studio: Awaited<ReturnType<typeof startStudio>>;
  afterAll(async () => {
    killChildren();
    await browser.close();
  });
  const service = useTestService();
  beforeAll(async () => {
    browser = await launchBrowser();
    studio = await startStudio({ DATABASE_URL: service.database.url });
  });

  test('shows ids to the last digit', async () => {
    const names = ['Ginkgo', 'Fir', 'Oak'];
    for (const [index, id] of IDS.entries()) await service.post(`{"id": ${id}, "name": "${names[index]}"}`);
    const { page } = await openPage(browser, studio.url);
    await page.getByText('plants', { exact: true }).click();
    await page.getByText('Ginkgo', { exact: true }).waitFor();
    for (const id of IDS) expect(await page.getByText(id, { exact: true }).count()).toBe(1);
    await takeScreenshot(page, 'prisma-studio', 420);
    await page.close();
  });
});
