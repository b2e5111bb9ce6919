import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Visit, violations } from './browser.ts';
import { allocations } from './example/workloads.ts';
import { appInstance, appMember, appOperation } from './instance.ts';
import { answerLive } from './live.ts';
import type { ConsolePlatform } from './platform.ts';

/** The unit of the platform with another name. */
async function unitOf(platform: ConsolePlatform, name: string): Promise<{ readonly metadata: object }> {
  const unit = (await platform.kube('/apis/compute.capstan.dev/v1alpha1/namespaces/default/gpuunits/waits')) as { metadata: object };
  return { ...unit, metadata: { ...unit.metadata, name, uid: name } };
}

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

    test.each([1440, 390])(
      'a list of 10,000 units draws only the rows near the visible ones, to its end, %i pixels wide',
      async (width) => {
        await using visit = await platform().ownerVisit({ viewport: { width, height: 844 } });
        const { page, complaints } = visit;
        const unit = await unitOf(platform(), 'many');
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
        expect(await table.getByRole('row').filter({ hasText: 'many-9999' }).getAttribute('aria-rowindex')).toBe('10001');
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
        expect(await violations(page)).toEqual([]);
        expect(Math.max(...drawn)).toBeLessThan(100);
        expect(Math.min(...drawn)).toBeGreaterThan(10);
        expect(complaints).toEqual([]);
      },
    );

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
      const reason = page.getByRole('tooltip').getByText('Another operation runs');
      await page.getByRole('button', { name: 'Repair' }).hover();
      await reason.waitFor();
      await page.mouse.move(0, 0);
      await reason.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Repair' }).focus();
      await reason.waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole('tab', { name: 'Members' }).click();
      await page.getByText('Unhealthy: no quorum').waitFor();
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    test('where the limits are, for a unit that waits because of them', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      const condition = {
        type: 'Allocated',
        status: 'False',
        reason: 'QuotaExceeded',
        message: 'too much',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      };
      const unit = { ...(await unitOf(platform(), 'limited')), status: { phase: 'Pending', conditions: [condition] } };
      await answerLive(page, (wanted) => (wanted.endsWith('/gpuunits') ? { items: [unit] } : undefined));
      await page.goto(platform().at(''));
      await page.getByRole('link', { name: 'See the limits' }).click();
      await page.getByRole('heading', { name: 'Limits that hold here' }).waitFor();
      expect(page.url()).toBe(platform().at('/tenancy?tab=quotas'));
    });

    test('on the first page a part of many units and apps, and where the others are', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      const unit = await unitOf(platform(), 'a');
      const many = (object: { readonly metadata: object }, amount: number) =>
        Array.from({ length: amount }, (_, index) => ({
          ...object,
          metadata: { ...object.metadata, name: `n${index}`, uid: `n${index}` },
        }));
      await answerLive(page, (wanted) => {
        if (wanted.endsWith('/gpuunits')) return { items: many({ ...unit, status: { phase: 'Failed' } } as typeof unit, 40) };
        if (wanted.endsWith('/appinstances'))
          return { items: many({ ...appInstance, status: { ...appInstance.status, health: 'failed' } } as typeof appInstance, 30) };
        return undefined;
      });
      await page.goto(platform().at(''));
      await page
        .getByRole('link', { name: /^and \d+ more (units|apps)$/ })
        .first()
        .waitFor();
      const links = await page.getByRole('link', { name: /^and \d+ more/ }).all();
      const rest = await Promise.all(
        links.map(
          async (link) =>
            `${await link.textContent()} ${new URL((await link.getAttribute('href'))!, page.url()).pathname.split('/').at(-1)}`,
        ),
      );
      expect(rest).toEqual(['and 20 more apps apps']);
    });

    test('the beginning of many members and steps, and more of them on demand', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      const names = Array.from({ length: 120 }, (_, index) => `lab-n${index}`);
      const members = names.map((name) => ({ ...appMember, metadata: { ...appMember.metadata, name, uid: name } }));
      const steps = names.map((name) => ({ id: name, title: 'Check the machine', stage: 0, member: name, state: 'succeeded' }));
      const answers: Readonly<Record<string, readonly object[]>> = {
        appinstances: [appInstance],
        appmembers: members,
        appoperations: [{ ...appOperation, status: { state: 'succeeded', steps } }],
      };
      await answerLive(page, (wanted) => {
        const items = answers[wanted.slice(wanted.lastIndexOf('/') + 1)];
        return items === undefined ? undefined : { items };
      });
      await page.goto(platform().at('/apps/default/lab?tab=members'));
      const entries = page.getByRole('tabpanel').getByText(/^lab-n\d+$/);
      await entries.first().waitFor();
      expect(await entries.count()).toBe(50);
      for (const shown of [100, 120]) {
        await page.getByRole('button', { name: /^Show \d+ more members$/ }).click();
        await expect.poll(() => entries.count()).toBe(shown);
      }
      expect(await page.getByRole('button', { name: /^Show \d+ more/ }).count()).toBe(0);
      await page.getByRole('tab', { name: 'Operations' }).click();
      const shownSteps = page.getByRole('tabpanel').getByText(/^on lab-n\d+$/);
      await shownSteps.first().waitFor();
      expect(await shownSteps.count()).toBe(50);
      await page.getByRole('button', { name: 'Show 50 more steps' }).click();
      await expect.poll(() => shownSteps.count()).toBe(100);
    });

    test('all steps of a plan that has more than an operation has room for', async () => {
      await using other = await platform().ownerVisit();
      const { page, complaints } = other;
      const room = 4;
      const titles = Array.from({ length: 10 }, (_, index) => `Step ${index + 1}`);
      const planned = (skip: number) => ({
        ...appOperation,
        metadata: { ...appOperation.metadata, name: `plan-${skip}`, uid: `plan-${skip}`, resourceVersion: '1' },
        spec: { ...appOperation.spec, dryRun: true },
        status: {
          state: 'succeeded',
          progress: { completed: 0, total: titles.length },
          steps: titles
            .slice(skip, skip + room)
            .map((title, index) => ({ id: `s${skip + index}`, title, stage: skip + index, state: 'pending' })),
        },
      });
      const deleted: string[] = [];
      await answerLive(page, (wanted) => {
        if (wanted.endsWith('/appoperations')) return { items: [planned(0)] };
        return wanted.endsWith('/allocations') ? { items: allocations } : undefined;
      });
      await page.route('**/namespaces/default/appinstances', (route) =>
        route.fulfill({ status: 201, json: route.request().postDataJSON() }),
      );
      await page.route('**/namespaces/default/appoperations', (route) =>
        route.fulfill({ status: 201, json: { ...planned(route.request().postDataJSON().spec.skipSteps ?? 0), status: {} } }),
      );
      await page.route('**/namespaces/default/appoperations?*', (route) => {
        const name = /metadata\.name=plan-(\d+)/.exec(decodeURIComponent(route.request().url()))![1]!;
        return route.fulfill({
          contentType: 'application/json',
          body: `${JSON.stringify({ type: 'MODIFIED', object: planned(Number(name)) })}\n`,
        });
      });
      await page.route('**/namespaces/default/appoperations/*', (route) => {
        deleted.push(`${route.request().method()} ${new URL(route.request().url()).pathname.split('/').at(-1)}`);
        return route.fulfill({ json: {} });
      });
      await page.goto(platform().at('/catalog/slurm'));
      await page.getByLabel('Name').fill('big');
      await page.getByRole('combobox', { name: 'Controller allocation' }).click();
      await page.getByRole('option', { name: /^slurm-head/ }).click();
      await page.getByRole('button', { name: 'Show the plan' }).click();
      await page.getByText(`${titles.length} steps. `).waitFor();
      for (const last of [8, 10]) {
        await page.getByRole('button', { name: 'Plan the steps after these' }).click();
        await page.getByText(`Step ${last}`, { exact: true }).waitFor();
      }
      expect(await page.getByText(/^Step \d+$/).allTextContents()).toEqual(titles);
      expect(await page.getByRole('button', { name: 'Plan the steps after these' }).count()).toBe(0);
      expect(deleted).toEqual(['DELETE plan-4', 'DELETE plan-8']);
      expect(complaints).toEqual([]);
    });

    test('the allocation of a unit and of a member, with a link to it', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      await page.goto(platform().at('/units/default/waits'));
      const link = page.locator('main').getByRole('link', { name: /^waits-/ });
      const name = (await link.textContent())!;
      await link.click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.getByRole('textbox', { name: 'YAML' }).getByText('kind: Allocation').waitFor();
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
