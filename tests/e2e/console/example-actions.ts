import { readFileSync } from 'node:fs';
import type { Request } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Visit } from './browser.ts';
import { plan } from './example/apps.ts';
import { showExample } from './example/cloud.ts';
import type { ConsolePlatform } from './platform.ts';

/** Actions on things that a platform of one small node does not have: the request that each sends. */
export function testExampleActions(platform: () => ConsolePlatform): void {
  describe('send what their buttons say', () => {
    let visit: Visit;
    let sent: string[] = [];
    const main = () => visit.page.locator('main');
    const button = (name: string) => main().getByRole('button', { name, exact: true });
    const dialog = () => visit.page.getByRole('dialog');
    const go = (path: string) => visit.page.goto(platform().at(path));
    const confirm = async (action: string, typed?: string): Promise<void> => {
      if (typed !== undefined) await dialog().getByLabel(`Type ${typed} to confirm`).fill(typed);
      await dialog().getByRole('button', { name: action, exact: true }).click();
      await dialog().waitFor({ state: 'detached' });
    };
    const expectSent = (...requests: string[]): Promise<void> => expect.poll(() => sent).toEqual(requests);

    /** `PATCH gpunodes/gpu-07 {"spec":{"lost":true}}`. */
    function wordsOf(request: Request): string {
      const place = new URL(request.url()).pathname.split('/v1alpha1/')[1]?.replace('namespaces/default/', '');
      return [request.method(), place, request.method() === 'PATCH' ? request.postData() : undefined].filter(Boolean).join(' ');
    }

    beforeAll(async () => {
      visit = await platform().ownerVisit({ permissions: ['clipboard-read', 'clipboard-write'] });
      await showExample(visit.page);
      await visit.page.route('**/kube/**', (route) => {
        const request = route.request();
        if (request.method() === 'GET' || request.url().includes('authorization.k8s.io')) return route.fallback();
        sent.push(wordsOf(request));
        return route.fulfill({ json: request.url().endsWith('/appoperations') ? plan : {} });
      });
    });
    beforeEach(() => {
      sent = [];
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test('a storage is recovered', async () => {
      await go('/storages/default/imagenet');
      await button('Recover').click();
      await expectSent('PATCH gpustorages/imagenet {"spec":{"recover":1}}');
    });

    test('a machine is declared lost, and removed from the fleet', async () => {
      await go('/fleet/gpu-07');
      await button('More').click();
      await visit.page.getByRole('menuitem', { name: 'Declare the machine lost' }).click();
      await confirm('Declare lost', 'gpu-07');
      await expectSent('PATCH gpunodes/gpu-07 {"spec":{"lost":true}}');
      await button('More').click();
      await visit.page.getByRole('menuitem', { name: 'Remove from the fleet' }).click();
      await confirm('Remove', 'gpu-07');
      await visit.page.waitForURL(platform().at('/fleet'));
      expect(sent.at(-1)).toBe('DELETE gpunodes/gpu-07');
    });

    test('an app is stopped, changed, and deleted', async () => {
      await go('/apps/default/lab');
      await button('Stop').click();
      await confirm('Stop');
      await button('Apply the configuration again').click();
      await button('Delete').click();
      await confirm('Delete', 'lab');
      await expectSent('PATCH appinstances/lab {"spec":{"stopped":true}}', 'POST appoperations', 'DELETE appinstances/lab');
    });

    test('a member of an app is repaired after a question', async () => {
      await go('/apps/default/lab?tab=members');
      await main().getByRole('listitem').filter({ hasText: 'lab-gpu-10' }).getByRole('button', { name: 'Repair' }).click();
      await dialog().getByText('On lab-gpu-10.').waitFor();
      await confirm('Repair');
      await expectSent('POST appoperations');
    });

    test('a step leads to its output, and another step is chosen there', async () => {
      await go('/apps/default/lab?tab=operations');
      await main().getByRole('link', { name: 'Output of Check the GPUs on lab-gpu-10' }).click();
      await main().getByText('GPU is lost').waitFor();
      const [read] = await Promise.all([
        visit.page.waitForRequest(/appoperations\/lab-deploy-1\/log/),
        (async () => {
          await main().getByRole('combobox', { name: 'Step' }).click();
          await visit.page.getByRole('option', { name: 'Start the controller · lab-gpu-08: done' }).click();
        })(),
      ]);
      expect(new URL(read.url()).searchParams.get('step')).toBe('start-the-controller-lab-gpu-08');
      expect(new URL(visit.page.url()).searchParams.get('step')).toContain('lab-deploy-1/');
    });

    test('an app that is paused and stopped goes on', async () => {
      await go('/apps/default/archive');
      await button('End the pause').click();
      await button('Start').click();
      await expectSent('PATCH appinstances/archive {"spec":{"paused":false}}', 'PATCH appinstances/archive {"spec":{"stopped":false}}');
    });

    test('a kubeconfig without credentials is copied and saved', async () => {
      const { page } = visit;
      await go('/apps/default/serving?tab=access');
      await button('Copy the kubeconfig').click();
      await expect.poll(() => page.evaluate<string>('navigator.clipboard.readText()')).toContain('kind: Config');
      const [download] = await Promise.all([page.waitForEvent('download'), button('Download without credentials').click()]);
      expect(download.suggestedFilename()).toBe('serving.kubeconfig');
      expect(readFileSync(await download.path(), 'utf8')).not.toMatch(/token|client-key/);
    });

    test('the form of an app says what is missing, shows the plan, and deploys it or not', async () => {
      const { page } = visit;
      await go('/catalog');
      await main().getByRole('link', { name: 'Deploy Slurm' }).click();
      await button('Show the plan').click();
      await main().getByText('Some fields need a look.').waitFor();
      expect(sent).toEqual([]);
      const fill = async (): Promise<void> => {
        await main().getByLabel('Name').fill('lab-2');
        await page.getByRole('combobox', { name: 'Controller allocation' }).click();
        await page.getByRole('option', { name: /^slurm-head/ }).click();
      };
      await fill();
      await button('Show the plan').click();
      await main().getByText('Nothing was done yet.').waitFor();
      await main().getByText('Install Slurm and munge').first().waitFor();
      await button('Cancel').click();
      await button('Show the plan').waitFor();
      await expectSent('POST appinstances', 'POST appoperations', 'DELETE appinstances/lab-2');
      await button('Show the plan').click();
      await button('Deploy').click();
      await page.waitForURL(platform().at('/apps/default/lab-2'));
      expect(sent.at(-1)).toBe(
        'PATCH appinstances/lab-2 {"metadata":{"annotations":{"apps.capstan.dev/preview":null}},"spec":{"paused":false}}',
      );
    });

    test('a search finds units by their reason, and can be given up', async () => {
      await go('/units');
      const table = main().getByRole('table', { name: 'GPU units' });
      await main().getByLabel('Search units').fill('memory');
      await table.getByText('notebook').waitFor({ state: 'detached' });
      await table.getByText('eval-suite').waitFor();
      await main().getByLabel('Search units').fill('nothing like it');
      await button('Show all').click();
      await table.getByText('notebook').waitFor();
    });

    test('a plot says the value under the pointer', async () => {
      await go('/units/default/notebook?tab=metrics');
      const plot = main().getByRole('figure').filter({ hasText: 'GPU utilisation' });
      const { width, height } = (await plot.locator('.u-over').boundingBox())!;
      await plot.locator('.u-over').hover({ position: { x: width / 2, y: height / 2 } });
      await plot.getByText(/^\d\d:\d\d:\d\d · \d+%$/).waitFor();
    });

    test('older events of the audit log are loaded, and a request that failed is tried again', async () => {
      const { page } = visit;
      const list = (name: string, next: string) => ({
        metadata: { continue: next },
        items: [
          {
            auditID: name,
            stage: 'ResponseComplete',
            user: {},
            verb: 'create',
            requestURI: `/${name}`,
            stageTimestamp: '2026-01-01T00:00:00Z',
          },
        ],
      });
      let asked = 0;
      await page.route('**/capstan/audit?*', (route) => {
        if (asked++ < 2) return route.fulfill({ status: 500, json: { kind: 'Status', code: 500, message: 'out of order' } });
        return route.fulfill({ json: route.request().url().includes('continue=older') ? list('first', '') : list('second', 'older') });
      });
      await go('/tenancy?tab=audit');
      await button('Try again').click();
      await button('Load older events').click();
      await main().getByText('/first').waitFor();
      await button('Load older events').waitFor({ state: 'detached' });
      await page.unroute('**/capstan/audit?*');
    });

    test('no page complained', () => expect(visit.complaints.filter((one) => !one.includes('status of 500'))).toEqual([]));
  });
}
