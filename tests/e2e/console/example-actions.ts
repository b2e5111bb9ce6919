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

    /** `PATCH gpunodes/gpu-07 {"spec":{"lost":true}}`, and `POST appoperations drain of lab-gpu-09 {"reason":"fans"}`. */
    function wordsOf(request: Request): string {
      const place = new URL(request.url()).pathname.split(/\/v1(?:alpha1)?\//)[1]?.replace('namespaces/default/', '');
      const what =
        request.method() === 'PATCH' ? request.postData() : place === 'appoperations' ? operationWords(request.postDataJSON()) : '';
      return [request.method(), place, what].filter(Boolean).join(' ');
    }
    const operationWords = ({ spec }: { spec: { type: string; member?: string; parameters?: object } }): string =>
      [spec.type, spec.member && `of ${spec.member}`, spec.parameters && JSON.stringify(spec.parameters)].filter(Boolean).join(' ');

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
      await button('Make everything as it should be').click();
      await button('Delete').click();
      await confirm('Delete', 'lab');
      await expectSent('PATCH appinstances/lab {"spec":{"stopped":true}}', 'POST appoperations reconcile', 'DELETE appinstances/lab');
    });

    const ofMember = (name: string) =>
      main()
        .getByRole('listitem')
        .filter({ has: visit.page.getByText(name, { exact: true }) });

    test('a member of an app is repaired at once, because that harms nothing', async () => {
      await go('/apps/default/lab?tab=members');
      await ofMember('lab-gpu-10').getByRole('button', { name: 'Repair the member' }).click();
      await expectSent('POST appoperations repair of lab-gpu-10');
    });

    test('a member of an app is drained with parameters, or not', async () => {
      await go('/apps/default/lab?tab=members');
      const drain = ofMember('lab-gpu-09').getByRole('button', { name: 'Drain' });
      for (const way of ['Cancel', 'Close']) {
        await drain.click();
        await dialog().getByText('On lab-gpu-09.').waitFor();
        await dialog().getByRole('button', { name: way }).click();
        await dialog().waitFor({ state: 'detached' });
      }
      expect(sent).toEqual([]);
      await drain.click();
      await dialog().getByLabel('Reason').fill('fans');
      await dialog().getByLabel('Wait').check();
      await confirm('Drain');
      await expectSent('POST appoperations drain of lab-gpu-09 {"reason":"fans","wait":true}');
    });

    test('a member says why an operation on it is refused', async () => {
      await go('/apps/default/lab?tab=members');
      const refused = ofMember('lab-gpu-10').getByRole('button', { name: 'Take jobs again' });
      await refused.focus();
      await visit.page.getByRole('tooltip').getByText('The GPU GPU-gpu-10-3 is out of order').waitFor();
      await visit.page.keyboard.press('Enter');
      expect(sent).toEqual([]);
    });

    test.each([
      ['lab', 'Try the failed steps again', 'retry'],
      ['lab', 'Take the problems off the list', 'acknowledge'],
      ['lab', 'Restart the controller', 'restart-controller'],
      ['retired', 'Go on after an intervention', 'resume'],
    ])('of the app %s: %s', async (name, title, type) => {
      await go(`/apps/default/${name}`);
      await button(title).click();
      await expectSent(`POST appoperations ${type}`);
    });

    test.each([
      ['inference', 'Cancel the operation', 'cancel'],
      ['retired', 'Delete without removing the rest', 'force-delete'],
      ['serving', 'Restore a snapshot', 'restore'],
    ])('of the app %s, after a question: %s', async (name, title, type) => {
      await go(`/apps/default/${name}`);
      await button(title).click();
      await dialog().getByText(`On ${name}.`).waitFor();
      expect(sent).toEqual([]);
      await confirm(title);
      await expectSent(`POST appoperations ${type}`);
    });

    test('the parameters of an operation are checked before it is sent', async () => {
      await go('/apps/default/serving');
      await button('Save a snapshot').click();
      await dialog().getByLabel('Name').fill('not a name');
      await dialog().getByRole('button', { name: 'Save a snapshot' }).click();
      await dialog().getByText('It has to match').waitFor();
      expect(sent).toEqual([]);
      await dialog().getByLabel('Name').fill('before-the-upgrade');
      await confirm('Save a snapshot');
      await expectSent('POST appoperations snapshot {"name":"before-the-upgrade"}');
    });

    test('a storage is cloned, and the clone is shown', async () => {
      await go('/storages/default/datasets');
      await button('Clone').click();
      await dialog().getByLabel('Name').fill('datasets-2');
      await confirm('Clone');
      await expectSent('POST gpustorages');
      await visit.page.waitForURL(platform().at('/storages/default/datasets-2'));
    });

    test('an offering is deleted after a question', async () => {
      await go('/allocations');
      await button('Delete h200-quarter').click();
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      await dialog().waitFor({ state: 'detached' });
      await button('Delete h200-quarter').click();
      await confirm('Delete');
      await expectSent('DELETE offerings/h200-quarter');
    });

    test('orders that end are not among those with devices', async () => {
      await go('/allocations');
      await main().getByRole('table', { name: 'Orders that have ended' }).getByText('sweep-1').waitFor();
      expect(await main().getByRole('table', { name: 'Orders with devices' }).getByText('sweep-1').count()).toBe(0);
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
      await expectSent('POST appinstances', 'POST appoperations deploy', 'DELETE appinstances/lab-2');
      await button('Show the plan').click();
      await button('Deploy').click();
      await page.waitForURL(platform().at('/apps/default/lab-2'));
      expect(sent.at(-1)).toBe(
        'PATCH appinstances/lab-2 {"metadata":{"annotations":{"apps.capstan.dev/preview":null}},"spec":{"paused":false}}',
      );
    });

    test('the navigation leads to search and to other workspaces by mouse', async () => {
      const { page } = visit;
      await go('/units');
      await page.getByRole('button', { name: 'Jump to' }).click();
      await page.getByRole('combobox', { name: 'Search' }).fill('notebook');
      await page.getByRole('option', { name: /^notebook/ }).click();
      await page.waitForURL(platform().at('/units/default/notebook'));
      await page.getByRole('button', { name: /^Switch the workspace/ }).click();
      await page.getByRole('button', { name: 'root:main', exact: true }).click();
      await page.waitForURL(`${platform().url}/w/root:main`);
      await page.getByRole('link', { name: 'Capstan, home' }).click();
      await page.waitForURL(`${platform().url}/w/root:main`);
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

    /** Resolves with the query of a request to a path as soon as it has these fields. */
    async function queryWith(path: string, fields: Readonly<Record<string, string>>): Promise<Record<string, string>> {
      const queryOf = (one: Request): Record<string, string> => Object.fromEntries(new URL(one.url()).searchParams);
      const request = await visit.page.waitForRequest(
        (one) =>
          new URL(one.url()).pathname.endsWith(path) && Object.entries(fields).every(([field, value]) => queryOf(one)[field] === value),
      );
      return queryOf(request);
    }

    test('every field of the audit search is sent', async () => {
      await go('/tenancy?tab=audit');
      await main().getByText('lab-repair-2').waitFor();
      const fields = { User: 'ann', Verb: 'create', Resource: 'gpuunits', Name: 'train', Result: '201' };
      for (const [label, value] of Object.entries(fields)) await main().getByLabel(label, { exact: true }).fill(value);
      await main().getByLabel('Since').fill('2026-01-01T00:00');
      await main().getByLabel('Until').fill('2026-02-01T00:00');
      const wanted = { user: 'ann', verb: 'create', resource: 'gpuunits', name: 'train', code: '201' };
      const [query] = await Promise.all([queryWith('/capstan/audit', wanted), button('Search').click()]);
      expect([query['since'], query['until']].map((time) => new Date(time!).getFullYear())).toEqual([2026, 2026]);
    });

    test('the usage is that of the chosen days', async () => {
      await go('/tenancy?tab=usage');
      await main().getByText('whole-node').waitFor();
      await Promise.all([queryWith('/capstan/usage', { from: '2026-01-02' }), main().getByLabel('From').fill('2026-01-02')]);
      await Promise.all([
        queryWith('/capstan/usage', { from: '2026-01-02', to: '2026-01-31' }),
        main().getByLabel('Until').fill('2026-01-31'),
      ]);
    });

    test('every limit of a quota is sent', async () => {
      await go('/tenancy?tab=quotas');
      await button('Limit a workspace').click();
      const fields = {
        Workspace: 'root:main:nlp',
        'GPUs of all models': '8',
        'GPUs by model': 'H100=4, H200=2',
        Storage: '10Ti',
        'GPU memory': '640Gi',
        Cores: '64',
        Memory: '1Ti',
        Allocations: '3',
      };
      for (const [label, value] of Object.entries(fields)) await dialog().getByLabel(label, { exact: true }).fill(value);
      const [request] = await Promise.all([
        visit.page.waitForRequest((one) => one.method() === 'POST' && one.url().includes('fleetquotas')),
        confirm('Limit'),
      ]);
      expect(request.postDataJSON().spec).toEqual({
        workspace: 'root:main:nlp',
        limits: { gpus: 8, models: { H100: 4, H200: 2 }, storage: '10Ti', gpuMemory: '640Gi', cpu: '64', memory: '1Ti', allocations: 3 },
      });
    });

    test('a member may be a group with another role, and a workspace of another type', async () => {
      const { page } = visit;
      const choose = async (label: string, option: RegExp | string): Promise<void> => {
        await dialog().getByRole('combobox', { name: label }).click();
        await page.getByRole('option', { name: option }).click();
      };
      const bodyOf = async (kind: string, action: string): Promise<unknown> => {
        const [request] = await Promise.all([
          page.waitForRequest((one) => one.method() === 'POST' && one.url().split('?')[0]!.endsWith(`/${kind}`)),
          confirm(action),
        ]);
        return request.postDataJSON();
      };
      await go('/tenancy?tab=members');
      await button('Add a member').click();
      await choose('Kind', 'Group');
      await dialog().getByLabel('Name').fill('ops');
      await choose('Role', /^viewer/);
      expect(await bodyOf('clusterrolebindings', 'Add')).toMatchObject({
        subjects: [{ kind: 'Group', name: 'ops' }],
        roleRef: { name: 'viewer' },
      });
      await page.goto(platform().at('/tenancy?tab=workspaces', 'root:main'));
      await button('New workspace').click();
      await dialog().getByLabel('Name').fill('speech');
      await choose('Type', /^Team/);
      expect(await bodyOf('workspaces', 'Create')).toMatchObject({ metadata: { name: 'speech' }, spec: { type: { name: 'team' } } });
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
