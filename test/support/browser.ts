import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';

const CANDIDATES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const browserPath = CANDIDATES.find(existsSync);

/** Why tests in a browser cannot run; undefined if they can. */
export const browserObstacle = browserPath === undefined ? 'no Chromium found' : undefined;

/** Without its sandbox, which does not work as root and in most containers. It opens only pages of this machine. */
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

/** Opens a page. `complaints` are its warnings and errors, `elsewhere` its requests to other hosts, which are blocked. */
export const openPage = async (browser: Browser, url: string, options: BrowserContextOptions = {}) => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  // On a busy machine the API page takes more than the usual 30 s to build itself.
  page.setDefaultTimeout(120_000);
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
