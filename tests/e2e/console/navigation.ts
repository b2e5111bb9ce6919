import type { Page } from 'playwright-core';

const push = (page: Page, address: string): Promise<unknown> =>
  page.evaluate(`history.pushState({}, '', ${JSON.stringify(address)}); dispatchEvent(new PopStateEvent('popstate'))`);

/** Goes to a page without loading everything again, by way of one that has no state. */
export async function openWithin(page: Page, address: string): Promise<void> {
  await push(page, '/nowhere');
  await page.getByText('There is no such page').waitFor();
  await push(page, address);
}
