import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Visit } from '../browser.ts';
import { openWithin } from '../navigation.ts';
import type { ConsolePlatform } from '../platform.ts';
import { expectWhole, screensOf, useScreen } from '../screens.ts';
import { showExample } from './cloud.ts';
import { exampleDialogs } from './dialogs.ts';
import { examplePages } from './pages.ts';

/** Pages and dialogs with the data of a busy cloud, in both colours, on wide and narrow screens. */
export function testExample(platform: () => ConsolePlatform): void {
  describe('in a busy cloud', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
      await showExample(visit.page);
      await visit.page.goto(platform().at(''));
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    /** Dialogs of one page need it only once. */
    const open = async (path: string, workspace?: string): Promise<void> => {
      const address = platform().at(path, workspace);
      if (visit.page.url() !== address) await openWithin(visit.page, address);
    };

    test.each(examplePages.map((page, index) => ({ ...page, order: screensOf(index) })))(
      'the page $name is whole, and everybody can use it',
      async ({ path, workspace, shows, order }) => {
        await open(path, workspace);
        for (const screen of order) {
          await useScreen(visit.page, screen);
          await visit.page.locator('main').getByText(shows).locator('visible=true').first().waitFor();
          await expectWhole(visit.page, { ...screen, checks: screen === order[0] ? 'all' : 'contrasts' }, 'main');
        }
        expect(visit.complaints.splice(0)).toEqual([]);
      },
    );

    test.each(exampleDialogs.map((dialog, index) => ({ ...dialog, order: screensOf(index) })))(
      'the dialog $title is whole, and everybody can use it',
      async ({ path, workspace, press, title, order }) => {
        const { page, complaints } = visit;
        await useScreen(page, order[0]!);
        await open(path, workspace);
        await page
          .locator('main')
          .getByRole('button', { name: press, exact: true })
          .and(page.locator(':enabled:not([aria-disabled])'))
          .first()
          .click();
        const dialog = page.getByRole('dialog', { name: title });
        await dialog.waitFor();
        for (const screen of order) {
          await useScreen(page, screen);
          await expectWhole(page, { ...screen, checks: screen === order[0] ? 'all' : 'contrasts' }, '[role=dialog]');
        }
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
        expect(complaints.splice(0)).toEqual([]);
      },
    );

    test('a phone has the navigation behind a button', async () => {
      const { page } = visit;
      await page.setViewportSize({ width: 390, height: 844 });
      await open('');
      const pages = page.getByRole('navigation', { name: 'Pages' });
      await pages.waitFor({ state: 'hidden' });
      await page.getByRole('button', { name: 'Navigation' }).click();
      await pages.getByText('Storage').click();
      await page.waitForURL(platform().at('/storages'));
      await pages.waitFor({ state: 'hidden' });
    });
  });
}
