import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { openApiPage, shownAnswer } from '../../support/api-page.ts';
import { browserObstacle, launchBrowser } from '../../support/browser.ts';
import { describeUnless } from '../../support/skip.ts';
import { makeTemporaryFolder } from '../../support/temporary-folder.ts';
import { startTestService, type TestService } from '../../support/test-service.ts';

jest.setTimeout(240_000);

describeUnless(browserObstacle, 'the API page in a browser', () => {
  let browser: Browser;
  let service: TestService;
  beforeAll(async () => {
    browser = await launchBrowser();
    service = await startTestService();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
  });

  test('imports a file that a person chooses, and lets them download the export', async () => {
    const { page, authorize, tryOut } = await openApiPage(browser, service);
    await authorize();
    const file = join(makeTemporaryFolder(), 'plants.ndjson');
    const plants = '{"id":9223372036854775807,"name":"Fir"}\n';
    writeFileSync(file, plants);
    const importing = page.locator('.opblock[id$="-importPlants"]');
    await importing.locator('.opblock-summary-control').click();
    await importing.locator('.body-param-content-type select').selectOption('application/x-ndjson');
    await importing.locator('input[type=file]').setInputFiles(file);
    await importing.getByRole('button', { name: 'Execute' }).click();
    await importing.locator('.live-responses-table').waitFor();
    expect(await shownAnswer(importing)).toMatchObject({
      status: '200',
      body: expect.stringContaining('"created": 1'),
    });
    expect(await service.stored(9_223_372_036_854_775_807n)).toMatchObject({ name: 'Fir' });

    const exporting = await tryOut('exportPlants', {});
    const link = exporting.getByRole('link', { name: /download/i });
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toBe('plants.ndjson');
    expect(readFileSync(await download.path(), 'utf8')).toBe(plants);
    await page.close();
  });
});
