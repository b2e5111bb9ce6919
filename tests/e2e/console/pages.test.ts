import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, type Visit } from './browser.ts';
import { pages } from './pages.ts';
import { ConsolePlatform } from './platform.ts';

await buildCapstan();

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Rules that a page breaks badly, each with the elements that do. */
async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${axe};0`);
  return page.evaluate<string[]>(`axe.run().then(({ violations }) => violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target.join(' ') + ' ' + failureSummary).join('; ')))`);
}

const screens = (['light', 'dark'] as const).flatMap((colorScheme) => [1440, 390].map((width) => ({ colorScheme, width })));

describeUnless(await skipReason(['chromium']), 'the pages of the console', () => {
  let platform: ConsolePlatform;

  beforeAll(async () => {
    platform = await ConsolePlatform.start();
    await platform.prepare();
  });
  afterAll(() => platform?.[Symbol.asyncDispose]());

  describe.each(screens)('in $colorScheme colours, $width pixels wide', ({ colorScheme, width }) => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform.ownerVisit({ colorScheme, viewport: { width, height: 844 } });
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(pages)('$name is whole, and everybody can use it', async ({ path, shows }) => {
      const { page, complaints } = visit;
      await page.goto(platform.at(path));
      await page.locator('main').getByText(shows).first().waitFor();
      expect(await page.evaluate('document.documentElement.dataset.mantineColorScheme')).toBe(colorScheme);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
    });
  });

  describe('with the keyboard alone', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform.ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    const focused = (): Promise<string> => visit.page.evaluate<string>('document.activeElement?.textContent ?? ""');
    /** Presses Tab until something with this text has the focus. */
    async function tabTo(text: string): Promise<void> {
      for (let presses = 0; presses < 60; presses++) {
        await visit.page.keyboard.press('Tab');
        if ((await focused()).trim() === text) return;
      }
      throw new Error(`Tab does not reach ${text}`);
    }

    test('Ctrl+K finds a page and opens it', async () => {
      const { page } = visit;
      await page.goto(platform.at(''));
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).waitFor();
      await page.keyboard.type('queue');
      await page.getByRole('option', { name: /Allocations/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(platform.at('/allocations'));
      await expect.poll(() => page.getByRole('dialog').count(), { timeout: patience }).toBe(0);
    });

    test('Tab reaches the navigation, and Enter the main action of a page', async () => {
      const { page } = visit;
      await page.goto(platform.at(''));
      await page.getByRole('link', { name: 'New unit' }).waitFor();
      await page.keyboard.press('Tab');
      expect((await focused()).trim()).toBe('Skip to the page');
      await tabTo('GPU units');
      await page.keyboard.press('Enter');
      await page.waitForURL(platform.at('/units'));
      await page.getByRole('link', { name: 'New unit' }).waitFor();
      await tabTo('New unit');
      await page.keyboard.press('Enter');
      await page.waitForURL(platform.at('/units/new'));
      await page.getByRole('button', { name: 'Create', exact: true }).waitFor();
      await tabTo('Create');
    });

    test('a dialog keeps the focus, and Escape closes it', async () => {
      const { page } = visit;
      await page.goto(platform.at('/units/default/waits'));
      await page.getByRole('button', { name: 'Delete', exact: true }).waitFor();
      await tabTo('Delete');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Delete waits?' }).waitFor();
      for (let presses = 0; presses < 6; presses++) {
        await page.keyboard.press('Tab');
        expect(await page.evaluate('document.activeElement.closest("[role=dialog]") !== null')).toBe(true);
      }
      await page.keyboard.press('Escape');
      await expect.poll(() => page.getByRole('dialog').count(), { timeout: patience }).toBe(0);
      await expect.poll(async () => (await focused()).trim(), { timeout: patience }).toBe('Delete');
    });
  });
});
