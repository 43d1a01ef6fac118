import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CANDIDATES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** A Chromium of this machine; undefined where there is none. */
export const browserPath = CANDIDATES.find(existsSync);

/** Without its sandbox, which root and most containers cannot have: it sees nothing but pages of this machine. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--no-first-run',
    ],
  });

/** A page, with what it complained of and what it asked of others than the host of `url`, which it does not get. */
export const openPage = async (browser: Browser, url: string, options: BrowserContextOptions = {}) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  const elsewhere: string[] = [];
  const { origin } = new URL(url);
  await page.route(
    (target) => target.origin !== origin && target.protocol !== 'data:',
    (route) => {
      elsewhere.push(route.request().url());
      return route.abort();
    },
  );
  await page.goto(url);
  return { page, complaints, elsewhere };
};

/** Takes a picture of the upper end of a page for README.md, where the environment asks for it (SCREENSHOTS=1). */
export const takeScreenshot = async (page: Page, name: string, height: number): Promise<void> => {
  if (!process.env.SCREENSHOTS) return;
  await page.setViewportSize({ width: 1280, height });
  await page.mouse.move(0, 0);
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ animations: 'disabled', path: `docs/images/${name}.png` });
};
