import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { openApiPage } from '../../support/api-page.ts';
import { browserObstacle, launchBrowser, openPage } from '../../support/browser.ts';
import { killChildren } from '../../support/children.ts';
import { describeUnless } from '../../support/skip.ts';
import { startStudio } from '../../support/studio.ts';
import { useTestService } from '../../support/use-test-service.ts';

jest.setTimeout(240_000);

const LARGEST = '9223372036854775807';
/** Of a phone, and of the pictures, which are taken last. */
const WIDTHS = [390, 1280];
/** The folder for the pictures: `PICTURES=docs/images npm run test:system -- pictures`. Otherwise none is written. */
const { PICTURES } = process.env;

/** Below what is shown, in px. */
const MARGIN = 8;

/** Writes a picture of a page, or of its part from the top of one element to the bottom of another. */
const takePicture = async (page: Page, name: string, from?: Locator, to?: Locator) => {
  if (!PICTURES) return;
  await page.mouse.move(0, 0);
  // Boxes are relative to the window, and the clip to the page.
  await page.evaluate('scrollTo(0, 0)');
  const [first, last] = [await from?.boundingBox(), await to?.boundingBox()];
  const clip = first &&
    last && { x: first.x, y: first.y, width: first.width, height: last.y + last.height - first.y + MARGIN };
  await page.screenshot({
    animations: 'disabled',
    fullPage: true,
    path: `${PICTURES}/${name}.png`,
    ...(clip && { clip }),
  });
};

describeUnless(browserObstacle, 'pages and their pictures', () => {
  let browser: Browser;
  const service = useTestService();
  beforeAll(async () => {
    browser = await launchBrowser();
    await service.post(`{"id": ${LARGEST}, "name": "Ginkgo", "tag": "Ginkgo biloba"}`);
  });
  afterAll(async () => {
    killChildren();
    await browser.close();
  });
  const expectNoScrolling = async (page: Page) => {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
  };

  test('the API page does not scroll sideways, with all operations or with a response', async () => {
    const { page, authorize, tryOut } = await openApiPage(browser, service);
    await expectNoScrolling(page);
    const operations = page.locator('.opblock-summary-control');
    for (const operation of await operations.all()) await operation.click();
    await page.locator('.responses-wrapper').last().waitFor();
    await expectNoScrolling(page);
    for (const operation of await operations.all()) await operation.click();
    await authorize();
    const block = await tryOut('getPlant', { id: LARGEST });
    await expectNoScrolling(page);
    await takePicture(page, 'api-page', block, block.locator('.live-responses-table pre').first());
    await page.close();
  });

  test.each(['/docs/errors', '/docs/errors#1003'])('%s does not scroll sideways', async (path) => {
    const { page } = await openPage(browser, `${service.baseUrl}${path}`);
    await expectNoScrolling(page);
    await page.close();
  });

  test('Prisma Studio shows ids to the last digit', async () => {
    const plants = { [LARGEST]: 'Ginkgo', '9007199254740993': 'Fir', '-9223372036854775808': 'Oak' };
    for (const [id, name] of Object.entries(plants)) await service.post(`{"id": ${id}, "name": "${name}"}`);
    const studio = await startStudio({ DATABASE_URL: service.database.url });
    const { page } = await openPage(browser, studio.url, { viewport: { width: 1280, height: 420 } });
    await page.getByText('plants', { exact: true }).click();
    await page.getByText('Ginkgo', { exact: true }).waitFor();
    for (const id of Object.keys(plants)) expect(await page.getByText(id, { exact: true }).count()).toBe(1);
    await takePicture(page, 'prisma-studio');
    await page.close();
    await studio.stop();
  });
});
