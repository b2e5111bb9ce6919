import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, type Visit } from './browser.ts';
import { type ConsolePlatform, workspace } from './platform.ts';

export function testKeyboard(platform: () => ConsolePlatform): void {
  describe('with the keyboard alone', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    /** Gives the focus to an input by Tab alone, and types. */
    async function fill(label: string, text: string): Promise<void> {
      const { page } = visit;
      const input = page.getByLabel(label, { exact: true }).and(page.locator('input, textarea'));
      for (let presses = 0; presses < 60; presses++) {
        if (
          await input.evaluate((element) => element === (globalThis as { document?: { activeElement: unknown } }).document?.activeElement)
        ) {
          await page.keyboard.type(text);
          return;
        }
        await page.keyboard.press('Tab');
      }
      throw new Error(`Tab does not reach ${label}`);
    }

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
      await page.goto(platform().at(''));
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).and(page.locator(':focus')).waitFor();
      await page.keyboard.type('queue');
      await page.getByRole('option', { name: /Allocations/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(platform().at('/allocations'));
      await expect.poll(() => page.getByRole('dialog').count(), { timeout: patience }).toBe(0);
    });

    test('Tab reaches the navigation, and Enter the main action of a page', async () => {
      const { page } = visit;
      await page.goto(platform().at(''));
      await page.getByRole('link', { name: 'New unit' }).waitFor();
      await page.keyboard.press('Tab');
      expect((await focused()).trim()).toBe('Skip to the page');
      await tabTo('GPU units');
      await page.keyboard.press('Enter');
      await page.waitForURL(platform().at('/units'));
      await page.getByRole('link', { name: 'New unit' }).waitFor();
      await tabTo('New unit');
      await page.keyboard.press('Enter');
      await page.waitForURL(platform().at('/units/new'));
      await page.getByRole('button', { name: 'Create', exact: true }).waitFor();
      await tabTo('Create');
    });

    test('a unit is created, stopped and deleted', async () => {
      const { page } = visit;
      await page.goto(platform().at('/units'));
      await page.getByRole('link', { name: 'New unit' }).waitFor();
      await tabTo('New unit');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Create', exact: true }).waitFor();
      await fill('Name', 'typed');
      await fill('Offering', 'small');
      await page.getByRole('option', { name: /^small/ }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await fill('Command', 'sleep 600');
      await tabTo('Create');
      await page.keyboard.press('Enter');
      await page.waitForURL(platform().at('/units/default/typed'));
      for (const action of ['Stop', 'Delete']) {
        await page.getByRole('button', { name: action, exact: true }).waitFor();
        await tabTo(action);
        await page.keyboard.press('Enter');
        const question = page.getByRole('dialog', { name: `${action} typed?` });
        await question.waitFor();
        await question.getByRole('button').and(page.locator(':focus')).waitFor();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await page.waitForURL(platform().at('/units'));
      await page.getByRole('link', { name: 'typed', exact: true }).waitFor({ state: 'detached' });
    });

    test('the arrows move between the tabs of a page', async () => {
      const { page } = visit;
      await page.goto(platform().at('/units/default/waits'));
      await page.getByRole('tab', { name: 'Overview' }).waitFor();
      await tabTo('Overview');
      await page.keyboard.press('ArrowLeft');
      await page.waitForURL(platform().at('/units/default/waits?tab=events'));
      await page.getByRole('tab', { name: 'Events', selected: true }).and(page.locator(':focus')).waitFor();
      await page.keyboard.press('ArrowRight');
      await page.getByRole('tab', { name: 'Overview', selected: true }).waitFor();
    });

    test('a dialog keeps the focus, and Escape closes it', async () => {
      const { page } = visit;
      await page.goto(platform().at('/units/default/waits'));
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

    test.each([
      ['/allocations', 'New offering'],
      ['/allocations', 'Order GPUs'],
      ['/storages', 'New storage'],
      ['/fleet', 'Add a machine'],
      ['/tenancy?tab=members', 'Add a member'],
      ['/tenancy?tab=quotas', 'Limit a workspace'],
      ['/tenancy?tab=workspaces', 'New workspace'],
    ])('the dialog at %s of %s begins in its first field, and returns the focus', async (path, label) => {
      const { page } = visit;
      await page.goto(`${platform().url}/w/${label === 'New workspace' ? 'root:main' : workspace}${path}`);
      const button = page.getByRole('button', { name: label }).first();
      await button.focus();
      await page.keyboard.press('Enter');
      await expect.poll(() => page.evaluate('document.activeElement.tagName'), { timeout: patience }).toBe('INPUT');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(async () => (await focused()).trim(), { timeout: patience }).toBe(label);
    });
  });
}
