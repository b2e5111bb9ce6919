import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Visit, violations } from './browser.ts';
import { appInstance, appMember } from './instance.ts';
import { answerLive } from './live.ts';
import type { ConsolePlatform } from './platform.ts';

/** Things that single pages show. */
export function testContents(platform: () => ConsolePlatform): void {
  describe('show', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit();
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test('an organization offers no new unit, because units run in the projects below it', async () => {
      const { page } = visit;
      await page.goto(`${platform().url}/w/root:main`);
      await page.getByText('Nothing runs in root:main itself').waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.getByRole('link', { name: 'New unit' }).count()).toBe(0);
    });

    test('the events of a unit include those of its Pod and of its allocation', async () => {
      const { page } = visit;
      const involvedObject = { kind: 'Pod', namespace: 'default', name: 'waits' };
      const event = { metadata: { name: 'of-the-pod' }, involvedObject, reason: 'Noted', message: 'somebody noted it', type: 'Normal' };
      await platform().kube('/api/v1/namespaces/default/events', { method: 'POST', body: event });
      await page.goto(platform().at('/units/default/waits?tab=events'));
      const row = page.getByRole('table', { name: 'Events' }).getByRole('row').filter({ hasText: 'somebody noted it' });
      await row.getByText('Pod waits').waitFor();
      await page.getByText(/^Allocation waits-/).waitFor();
    });

    test('a list of 10,000 units draws only the rows near the visible ones, to its end', async () => {
      await using visit = await platform().ownerVisit();
      const { page, complaints } = visit;
      const path = '/apis/compute.capstan.dev/v1alpha1/namespaces/default/gpuunits/waits';
      const unit = (await platform().kube(path)) as { metadata: object };
      const items = Array.from({ length: 10_000 }, (_, index) => {
        const name = `many-${String(index).padStart(4, '0')}`;
        return { ...unit, metadata: { ...unit.metadata, name, uid: name } };
      });
      await answerLive(page, (wanted) => (wanted.endsWith('/gpuunits') ? { items } : undefined));
      await page.goto(platform().at('/units'));
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
      const { page, complaints } = visit;
      await page.goto(platform().at('/api/new'));
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

    test('an address from elsewhere, with encoded colons, marks the page in the navigation', async () => {
      const { page } = visit;
      await page.goto(platform().at('/units').replaceAll(':default', '%3Adefault').replace('root:main', 'root%3Amain'));
      await page.getByRole('navigation', { name: 'Pages' }).locator('[aria-current="page"]').getByText('GPU units').waitFor();
      expect(page.url()).toBe(platform().at('/units'));
    });

    test('an app with the reports of its own account, and why an action is refused', async () => {
      await using other = await platform().ownerVisit();
      const { page, complaints } = other;
      const answers: Readonly<Record<string, readonly object[]>> = {
        appinstances: [appInstance],
        appmembers: [appMember],
        appoperations: [],
      };
      await answerLive(page, (wanted) => {
        const items = answers[wanted.slice(wanted.lastIndexOf('/') + 1)];
        return items === undefined ? undefined : { items };
      });
      await page.goto(platform().at('/apps/default/lab'));
      await page.getByText('training, 3 of 10: epoch 3').waitFor();
      await page.getByText('the app itself').waitFor();
      await page.getByRole('button', { name: 'Repair' }).hover();
      await page.getByRole('tooltip').getByText('Another operation runs').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('tab', { name: 'Members' }).click();
      await page.getByText('Unhealthy: no quorum').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    test('in the audit log that a server did not answer', async () => {
      const { page } = visit;
      const list = { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items: [], missingServers: ['api-2'] };
      await page.route('**/capstan/audit?*', (route) => route.fulfill({ json: list }));
      await page.goto(platform().at('/tenancy?tab=audit'));
      await page.getByText('api-2 did not answer').waitFor();
      await page.unroute('**/capstan/audit?*');
    });
  });
}
