import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { openApiPage, shownAnswer } from '../../support/api-page.ts';
import { browserObstacle, launchBrowser, openPage } from '../../support/browser.ts';
import { describeUnless } from '../../support/skip.ts';
import type { TestService } from '../../support/test-service.ts';
import { useTestServices } from '../../support/use-test-service.ts';

// The page has 1.5 MB; some machines are slow.
jest.setTimeout(240_000);

const LARGEST = '9223372036854775807';
const SMALLEST = '-9223372036854775808';
const PHONE = { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true };

describeUnless(browserObstacle, 'the API page in a browser', () => {
  let browser: Browser;
  let service: TestService;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());
  const start = useTestServices();
  beforeEach(async () => {
    service = await start();
  });

  const open = (options: Parameters<typeof openApiPage>[2] = {}) => openApiPage(browser, service, options);

  test('loads without warnings, and only from the store', async () => {
    const { page, complaints, elsewhere } = await open();
    expect(await page.title()).toBe('Plant Store API');
    expect(await page.locator('.opblock').count()).toBeGreaterThan(8);
    expect([complaints, elsewhere]).toEqual([[], []]);
    await page.close();
  });

  test('opens at the URL of the store', async () => {
    const page = await browser.newPage();
    await page.goto(service.baseUrl);
    expect(page.url()).toBe(`${service.baseUrl}/docs`);
    await page.close();
  });

  test.each(['/docs/errors', '/docs/errors#1003'])('%s is accessible and links to the API page', async (path) => {
    for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, PHONE] as const) {
      const { page, complaints, elsewhere } = await openPage(browser, `${service.baseUrl}${path}`, options);
      const barColour = await page.evaluate("getComputedStyle(document.querySelector('header')).backgroundColor");
      expect(barColour).toBe('rgb(31, 107, 69)');
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      // The examples are not cut.
      const widths = "[...document.querySelectorAll('pre')].map((one) => one.scrollWidth - one.clientWidth)";
      expect(Math.max(...(await page.evaluate<number[]>(widths)))).toBe(0);
      expect([complaints, elsewhere, await findBarriers(page)]).toEqual([[], [], []]);
      await page.getByRole('link', { name: 'Plant Store API' }).click();
      // That the page works is another test's subject; it takes seconds to build itself.
      await page.waitForURL(`${service.baseUrl}/docs`, { waitUntil: 'commit' });
      await page.close();
    }
  });

  test('a page from an allowed origin can read both forms of an error', async () => {
    const other = await start({ CORS_ORIGINS: service.baseUrl });
    // A page without a Content-Security-Policy, which would block requests to another origin.
    const page = await browser.newPage();
    await page.goto(`${service.baseUrl}/livez`);
    const ask = (accept: string) => {
      const headers = JSON.stringify({ Accept: accept, Authorization: 'Bearer x' });
      return page.evaluate(`fetch('${other.baseUrl}/plants', { headers: ${headers} }).then((answer) => answer.json())`);
    };
    expect(await ask('application/json')).toMatchObject({ error: 1101 });
    expect(await ask('application/problem+json')).toMatchObject({ code: 1101, type: '/docs/errors#1101' });
    await page.close();
  });

  test.each([LARGEST, SMALLEST])('stores a plant with a token and shows its id %s', async (id) => {
    const { page, complaints, authorize, tryOut } = await open();
    await authorize();
    const created = await tryOut('createPlant', { body: `{"id": ${id}, "name": "Ginkgo", "tag": "Ginkgo biloba"}` });
    expect(await shownAnswer(created)).toEqual({
      status: '200',
      body: '{\n  "name": "Ginkgo",\n  "tag": "Ginkgo biloba"\n}',
    });
    expect(await service.stored(id)).toEqual({ id, name: 'Ginkgo', tag: 'Ginkgo biloba' });
    const found = await tryOut('getPlant', { id });
    expect(await shownAnswer(found)).toEqual({
      status: '200',
      body: `{\n  "id": ${id},\n  "name": "Ginkgo",\n  "tag": "Ginkgo biloba"\n}`,
    });
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('lists, replaces, patches and deletes plants', async () => {
    await service.post(`{"id": ${LARGEST}, "name": "Ginkgo"}`);
    const { page, authorize, tryOut } = await open();
    await authorize();
    const answer = async (...words: Parameters<typeof tryOut>) => shownAnswer(await tryOut(...words));
    expect((await answer('listPlants', {})).body).toContain(`"id": ${LARGEST},`);
    expect((await answer('replacePlant', { id: LARGEST, body: '{"name": "Fir", "tag": "Abies"}' })).status).toBe('200');
    expect((await answer('patchPlant', { id: LARGEST, body: '{"tag": null}' })).body).toBe('{\n  "name": "Fir"\n}');
    expect((await answer('deletePlant', { id: LARGEST })).status).toBe('204');
    expect(await service.stored(LARGEST)).toBeUndefined();
    await page.close();
  });

  test('sends a plant twice with an Idempotency-Key, and shows that the second response is a repetition', async () => {
    const { page, complaints, authorize, tryOut } = await open();
    await authorize();
    const body = `{"id": ${LARGEST}, "name": "Ginkgo"}`;
    const block = await tryOut('createPlant', { key: 'a-key', body });
    const answer = block.locator('.live-responses-table');
    expect((await shownAnswer(block)).status).toBe('200');
    expect(await answer.innerText()).not.toContain('idempotent-replayed');
    await block.getByRole('button', { name: 'Execute' }).click();
    await answer.getByText('idempotent-replayed: true').waitFor();
    expect((await shownAnswer(block)).status).toBe('200');
    await block.getByPlaceholder('Idempotency-Key').fill('another key');
    await block.getByRole('button', { name: 'Execute' }).click();
    await block.locator('input.invalid').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('shows an error without a token', async () => {
    const { page, tryOut } = await open();
    const { status, body } = await shownAnswer(await tryOut('getPlant', { id: '1' }));
    expect([status, body]).toEqual(['401', expect.stringContaining('"error": 1100')]);
    await page.close();
  });

  test('works under a base path, with health checks at the root', async () => {
    service = await start({ BASE_PATH: '/api/v1' });
    const { page, complaints, elsewhere, authorize, tryOut } = await open({ basePath: '/api/v1' });
    await authorize();
    expect((await shownAnswer(await tryOut('listPlants', {}))).body).toBe('[]');
    expect((await shownAnswer(await tryOut('isReady', {}))).body).toContain('"ready"');
    expect([complaints, elsewhere]).toEqual([[], []]);
    await page.close();
  });

  test('works with the keyboard alone', async () => {
    const { page } = await open();
    const { keyboard } = page;
    /** Presses Tab until the control with this name has the focus. */
    const tabTo = async (name: string) => {
      for (let presses = 0; presses < 200; presses++) {
        await keyboard.press('Tab');
        const focused = await page.evaluate('document.activeElement.ariaLabel ?? document.activeElement.innerText');
        if (String(focused).replace(/\s+/g, ' ').trim() === name) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await tabTo('Authorize');
    await keyboard.press('Enter');
    await page.locator('.dialog-ux').getByRole('textbox').waitFor();
    await keyboard.type(service.token);
    await keyboard.press('Enter');
    await page.getByRole('button', { name: 'Logout' }).waitFor();
    await tabTo('Close');
    await keyboard.press('Enter');
    await tabTo('POST /plants Create a plant');
    await keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Request body' }).waitFor();
    await tabTo('Request body');
    await keyboard.press('ControlOrMeta+A');
    await keyboard.type(`{"id": ${LARGEST}, "name": "Ginkgo"}`);
    await tabTo('Execute');
    await keyboard.press('Enter');
    await page.locator('.live-responses-table').waitFor();
    expect((await service.stored(LARGEST))?.name).toBe('Ginkgo');
    await page.close();
  });

  test('shows how to import on two and a half screens, and code in three languages', async () => {
    const { page } = await open();
    const importing = page.locator('.opblock[id$="-importPlants"]');
    await importing.locator('.opblock-summary-control').click();
    await importing.locator('.response').last().waitFor();
    expect((await importing.boundingBox())?.height).toBeLessThanOrEqual(1800);
    await page.locator('.opblock[id$="-createPlant"] .opblock-summary-control').click();
    const code = page.locator('.opblock[id$="-createPlant"] details');
    await code.last().locator('summary').click();
    expect(await code.locator('summary').allInnerTexts()).toEqual(['curl', 'JavaScript', 'Python']);
    expect(await code.last().innerText()).toContain('"id": 9223372036854775807');
    expect(await findBarriers(page)).toEqual([]);
    await page.close();
  });

  test('begins with the operations, links to the errors, and has a colour for each method', async () => {
    const { page } = await open({ viewport: { width: 1280, height: 720 } });
    expect(await endOfFirstOperation(page)).toBeLessThan(720);
    const colours = await page.evaluate<string[]>(`['post', 'get', 'delete'].map((method) =>
      getComputedStyle(document.querySelector('.opblock-' + method + ' .opblock-summary-method')).backgroundColor)`);
    expect(new Set(colours).size).toBe(3);
    const links = await page.getByRole('link', { name: /^errors?$/i }).all();
    const targets = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect([...new Set(targets)]).toEqual(['docs/errors']);
    const levels = await page.getByRole('heading').evaluateAll((all) => all.map((one) => one.ariaLevel ?? one.tagName));
    expect([levels[0], ...new Set(levels.slice(1))]).toEqual(['H1', '2']);
    await page.close();
  });

  test('fits a phone screen, and begins with the operations there', async () => {
    const { page, authorize, tryOut } = await open(PHONE);
    const width = () => page.evaluate('document.documentElement.scrollWidth');
    expect(await width()).toBe(375);
    expect(await endOfFirstOperation(page)).toBeLessThan(PHONE.viewport.height);
    await authorize();
    const block = await tryOut('createPlant', { body: `{"id": ${LARGEST}, "name": "${'Ginkgo'.repeat(40)}"}` });
    await tryOut('getPlant', { id: LARGEST });
    expect(await width()).toBe(375);
    const { x = -1, width: buttonWidth = 0 } =
      (await block.getByRole('button', { name: 'Execute' }).boundingBox()) ?? {};
    expect(x >= 0 && x + buttonWidth <= 375).toBe(true);
    await page.close();
  });

  test.each<[string, BrowserContextOptions, ('light' | 'dark')[]]>([
    ['in light and dark colours', {}, ['light', 'dark']],
    ['on a phone', PHONE, ['light']],
  ])('axe finds no serious barriers %s', async (_title, options, colorSchemes) => {
    const { page, authorize, tryOut } = await open(options);
    const expectNoBarriers = async () => {
      for (const colorScheme of colorSchemes) {
        await page.emulateMedia({ colorScheme });
        expect(await findBarriers(page)).toEqual([]);
      }
    };
    await expectNoBarriers();
    await page.getByRole('button', { name: 'Authorize' }).click();
    await expectNoBarriers();
    await page.getByRole('button', { name: 'Close' }).last().click();
    await authorize();
    await tryOut('createPlant', { body: `{"id": ${LARGEST}, "name": "Ginkgo"}` });
    await tryOut('listPlants', {});
    await page.getByRole('button', { name: 'Schemas' }).click();
    await page.getByRole('button', { name: 'Expand all' }).first().click();
    await expectNoBarriers();
    await page.close();
  });
});

/** In px from the top of the window. */
const endOfFirstOperation = async (page: Page) => {
  const { y = Infinity, height = 0 } = (await page.locator('.opblock').first().boundingBox()) ?? {};
  return y + height;
};

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The violations that axe rates as serious or critical. */
const findBarriers = async (page: Page) => {
  // Colours on their way from one colour scheme to the other are nobody's.
  await page.evaluate(
    'for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish(); undefined',
  );
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target} ${html.slice(0, 200)}`));
};
