import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { openPage } from './browser.ts';
import type { TestService } from './test-service.ts';

/** Opens the API page of a service. */
export const openApiPage = async (
  browser: Browser,
  service: TestService,
  { basePath = '', ...options }: BrowserContextOptions & { basePath?: string } = {},
) => {
  const opened = await openPage(browser, `${service.baseUrl}${basePath}/docs`, options);
  const { page } = opened;
  await operation(page, 'isReady').waitFor();
  return {
    ...opened,
    /** Enters the token in the dialog. */
    authorize: async () => {
      await page.getByRole('button', { name: 'Authorize' }).click();
      const dialog = page.locator('.dialog-ux');
      await dialog.getByRole('textbox').fill(service.token);
      await dialog.getByRole('button', { name: 'Authorize' }).click();
      await dialog.getByRole('button', { name: 'Close' }).last().click();
    },
    /** Opens an operation, fills it in and sends it. @returns its part of the page, with the response */
    tryOut: async (operationId: string, { id, key, body }: { id?: string; key?: string; body?: string }) => {
      const block = operation(page, operationId);
      await block.locator('.opblock-summary-control').click();
      if (id !== undefined) await block.getByPlaceholder('id', { exact: true }).fill(id);
      if (key !== undefined) await block.getByPlaceholder('Idempotency-Key').fill(key);
      if (body !== undefined) await block.getByRole('textbox', { name: 'Request body' }).fill(body);
      await block.getByRole('button', { name: 'Execute' }).click();
      await block.locator('.live-responses-table').waitFor();
      return block;
    },
  };
};

const operation = (page: Page, operationId: string): Locator => page.locator(`.opblock[id$="-${operationId}"]`);

/** The response that the page shows. */
export const shownAnswer = async (block: Locator) => ({
  status: (await block.locator('.live-responses-table .response-col_status').last().innerText()).trim(),
  body: await block.locator('.live-responses-table .response-col_description pre').first().innerText(),
});
