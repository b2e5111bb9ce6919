import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, type Visit } from './browser.ts';
import { type ConsolePlatform, workspace } from './platform.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';

/** The pages of the API, with the real server. */
export function testExplorer(platform: () => ConsolePlatform): void {
  describe('let people look at every kind', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    const main = () => visit.page.locator('main');
    const button = (name: string) => main().getByRole('button', { name, exact: true });
    const editor = () => visit.page.getByRole('textbox', { name: 'YAML' });
    const create = (name: string) => platform().kube(configMaps, { method: 'POST', body: { metadata: { name }, data: { level: 'info' } } });

    test('a list shows new objects of a kind that never stops changing', async () => {
      const { page } = visit;
      await create('busy');
      await page.goto(platform().at('/api/core/v1/configmaps'));
      await page.getByRole('link', { name: 'busy' }).waitFor();
      const shown = page.getByRole('link', { name: 'came-meanwhile' }).waitFor();
      let isOver = false;
      const changes = (async () => {
        for (let change = 0; !isOver; change++)
          await platform().kube(`${configMaps}/busy`, {
            method: 'PUT',
            body: { metadata: { name: 'busy' }, data: { change: `${change}` } },
          });
      })();
      try {
        await create('came-meanwhile');
        await shown;
      } finally {
        isOver = true;
        await changes;
      }
    });

    test('the age of an object counts on', async () => {
      const { page } = visit;
      await create('aging');
      await page.goto(platform().at('/api/core/v1/configmaps'));
      const age = main().getByRole('row').filter({ hasText: 'aging' }).locator('time');
      const before = await age.textContent();
      await expect.poll(() => age.textContent(), { timeout: patience }).not.toBe(before);
    });

    test('an object of a kind that cannot be changed has no buttons for that', async () => {
      const { page } = visit;
      await page.goto(platform().at('/api/compute.capstan.dev/v1alpha1/offerings/-/small'));
      await editor().getByText('kind: Offering').waitFor();
      await visit.settled();
      for (const name of ['Save', 'Dry run', 'Delete']) expect(await button(name).count()).toBe(0);
    });

    test('a newer object replaces a changed text only after a question', async () => {
      const { page } = visit;
      await create('edited');
      await page.goto(platform().at('/api/core/v1/configmaps/default/edited'));
      await editor().getByText('level: info').waitFor();
      await button('Save').waitFor();
      await editor().click();
      await page.keyboard.press('Control+End');
      await page.keyboard.insertText('# mine');
      await platform().kube(`${configMaps}/edited`, { method: 'PUT', body: { metadata: { name: 'edited' }, data: { level: 'debug' } } });
      const dialog = page.getByRole('dialog', { name: 'Load the object of the server?' });
      await button('Load').click();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await editor().getByText('# mine').waitFor();
      await button('Load').click();
      await dialog.getByRole('button', { name: 'Load', exact: true }).click();
      await editor().getByText('level: debug').waitFor();
      expect(await editor().getByText('# mine').count()).toBe(0);
      await button('Load').waitFor({ state: 'detached' });
    });

    test.each([
      {
        what: 'an object that does not exist',
        path: '/api/core/v1/configmaps/default/nothing',
        title: 'There is no object nothing of the kind configmaps',
        link: 'See all configmaps',
        next: '/api/core/v1/configmaps',
      },
      {
        what: 'a kind that does not exist',
        path: '/api/example.com/v1/things',
        title: `${workspace} has no things in example.com/v1`,
        link: 'See the kinds that it has',
        next: '/api',
      },
      {
        what: 'a kind without objects',
        path: '/api/apps.capstan.dev/v1alpha1/appinstances',
        title: 'There are no appinstances here',
        link: 'Create one from YAML',
        next: '/api/new',
      },
    ])('the page of $what leads on', async ({ path, title, link, next }) => {
      const { page } = visit;
      await page.goto(platform().at(path));
      await page.getByRole('heading', { level: 2, name: title }).waitFor();
      await main().getByRole('link', { name: link }).click();
      await page.waitForURL(platform().at(next));
    });

    test('Tab indents in the editor, and leaves it after Escape', async () => {
      const { page } = visit;
      await page.goto(platform().at('/api/new'));
      await editor().click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText('data:');
      await page.keyboard.press('Tab');
      await expect.poll(() => editor().textContent()).toBe('  data:');
      const isInside = (): Promise<boolean> => page.evaluate<boolean>('document.activeElement.shadowRoot !== null');
      expect(await isInside()).toBe(true);
      await main().getByText('Escape, then Tab, leaves the editor.').waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      expect(await isInside()).toBe(false);
      expect(await editor().textContent()).toBe('  data:');
    });

    test('a column sorts its rows up and down, and says so', async () => {
      const { page } = visit;
      await page.goto(platform().at('/api/core/v1/configmaps'));
      const header = main().getByRole('columnheader', { name: 'Name', exact: true });
      const names = async () => (await main().getByRole('row').getByRole('link').allTextContents()).map((name) => name.trim());
      await main().getByRole('link', { name: 'aging' }).waitFor();
      await header.getByRole('button').click();
      const first = await header.getAttribute('aria-sort');
      const one = await names();
      await header.getByRole('button').click();
      await expect.poll(() => header.getAttribute('aria-sort')).not.toBe(first);
      expect(new Set([first, await header.getAttribute('aria-sort')])).toEqual(new Set(['ascending', 'descending']));
      expect(await names()).toEqual(one.toReversed());
      expect(one).not.toEqual(one.toReversed());
    });

    test('no page complained', () => expect(visit.complaints.filter((one) => !one.includes('status of 404'))).toEqual([]));
  });
}
