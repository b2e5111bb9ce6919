import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { patience, type Visit, violations } from './browser.ts';
import { pages } from './pages.ts';
import { ConsolePlatform, workspace } from './platform.ts';

await buildCapstan();

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
      await page.getByRole('combobox', { name: 'Search' }).and(page.locator(':focus')).waitFor();
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
      await page.goto(`${platform.url}/w/${label === 'New workspace' ? 'root:main' : workspace}${path}`);
      const button = page.getByRole('button', { name: label }).first();
      await button.focus();
      await page.keyboard.press('Enter');
      await expect.poll(() => page.evaluate('document.activeElement.tagName'), { timeout: patience }).toBe('INPUT');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(async () => (await focused()).trim(), { timeout: patience }).toBe(label);
    });
  });

  test('an organization offers no new unit, because units run in the projects below it', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    await page.goto(`${platform.url}/w/root:main`);
    await page.getByText('Nothing runs in root:main itself').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('link', { name: 'New unit' }).count()).toBe(0);
  });

  test('the events of a unit include those of its Pod and of its allocation', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    const involvedObject = { kind: 'Pod', namespace: 'default', name: 'waits' };
    const event = { metadata: { name: 'of-the-pod' }, involvedObject, reason: 'Noted', message: 'somebody noted it', type: 'Normal' };
    await platform.kube('/api/v1/namespaces/default/events', { method: 'POST', body: event });
    await page.goto(platform.at('/units/default/waits?tab=events'));
    const row = page.getByRole('table', { name: 'Events' }).getByRole('row').filter({ hasText: 'somebody noted it' });
    await row.getByText('Pod waits').waitFor();
    await page.getByText(/^Allocation waits-/).waitFor();
  });

  test('a list of 10,000 units draws only the rows near the visible ones, to its end', async () => {
    await using visit = await platform.ownerVisit();
    const { page, complaints } = visit;
    const path = '/apis/compute.capstan.dev/v1alpha1/namespaces/default/gpuunits/waits';
    const unit = (await platform.kube(path)) as { metadata: object };
    const items = Array.from({ length: 10_000 }, (_, index) => {
      const name = `many-${String(index).padStart(4, '0')}`;
      return { ...unit, metadata: { ...unit.metadata, name, uid: name } };
    });
    await page.routeWebSocket(/\/live$/, (stream) => {
      const server = stream.connectToServer();
      stream.onMessage((text) => {
        const message = JSON.parse(String(text)) as { add?: string; path?: string };
        if (message.path?.endsWith('/gpuunits') === true) stream.send(JSON.stringify({ key: message.add, type: 'list', items }));
        else server.send(text);
      });
    });
    await page.goto(platform.at('/units'));
    const table = page.locator('main').getByRole('table').first();
    await table.getByText('many-0000').waitFor();
    expect(await table.getAttribute('aria-rowcount')).toBe('10001');
    const drawn: number[] = [];
    for (let share = 0; share <= 1; share += 0.1) {
      await table.evaluate((element, to) => {
        const scroller = (element as { parentElement: { scrollTop: number; scrollHeight: number } }).parentElement;
        scroller.scrollTop = scroller.scrollHeight * to;
      }, share);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      drawn.push(await table.getByRole('row').count());
    }
    await table.getByText('many-9999').waitFor();
    expect(Math.max(...drawn)).toBeLessThan(100);
    expect(Math.min(...drawn)).toBeGreaterThan(10);
    expect(complaints).toEqual([]);
  });

  test('the editor completes fields and values from the schema of the kind', async () => {
    await using visit = await platform.ownerVisit();
    const { page, complaints } = visit;
    await page.goto(platform.at('/api/new'));
    const editor = page.getByRole('textbox', { name: 'YAML' });
    await editor.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('apiVersion: compute.capstan.dev/v1alpha1\nkind: GPUUnit\nmetadata:\n  name: typed\nspec:\n  ');
    for (const [typed, option] of [
      ['netw', /^network/],
      ['N', /^None/],
    ] as const) {
      await page.keyboard.type(typed);
      // Enter would be a new line for a moment whenever the list changes.
      await page.getByRole('option', { name: option, selected: true }).click();
      await page.getByRole('option').first().waitFor({ state: 'detached' });
    }
    expect(await editor.textContent()).toContain('  network: None');
    expect(complaints).toEqual([]);
  });
});
