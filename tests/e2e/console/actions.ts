import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Visit } from './browser.ts';
import { type ConsolePlatform, workspace } from './platform.ts';

/** Actions of owners and members that need no running program. */
export function testActions(platform: () => ConsolePlatform): void {
  describe('do what their buttons say', () => {
    let visit: Visit;
    beforeAll(async () => {
      visit = await platform().ownerVisit({ permissions: ['clipboard-read', 'clipboard-write'] });
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    const go = (path: string) => visit.page.goto(platform().at(path));
    const main = () => visit.page.locator('main');
    const button = (name: string) => main().getByRole('button', { name, exact: true });
    const row = (text: string) => main().getByRole('row').filter({ hasText: text });
    const dialog = () => visit.page.getByRole('dialog');
    const confirm = async (action: string, typed?: string): Promise<void> => {
      if (typed !== undefined) await dialog().getByLabel(`Type ${typed} to confirm`).fill(typed);
      await dialog().getByRole('button', { name: action, exact: true }).click();
      await dialog().waitFor({ state: 'detached' });
    };

    test('an order is placed and released', async () => {
      await go('/allocations');
      await button('Order GPUs').click();
      await dialog().getByLabel('Name').fill('mine');
      await dialog().getByRole('combobox', { name: 'Offering' }).click();
      await visit.page.getByRole('option', { name: /^small/ }).click();
      await confirm('Order');
      await row('mine').getByRole('button', { name: 'Release' }).click();
      await confirm('Release');
      await row('mine').waitFor({ state: 'detached' });
    });

    test('a part of the nodes is offered, and no more', async () => {
      await go('/allocations');
      await button('New offering').click();
      await dialog().getByLabel('Name').fill('tiny');
      await dialog().getByLabel('GPUs').fill('0');
      await dialog().getByLabel('Cores').fill('100m');
      await dialog().getByLabel('Memory').fill('64Mi');
      await confirm('Offer');
      await main().getByRole('table', { name: 'Offerings' }).getByText('100m cpu, 64Mi').waitFor();
      await button('Delete tiny').click();
      await confirm('Delete');
      await main().getByRole('table', { name: 'Offerings' }).getByText('100m cpu, 64Mi').waitFor({ state: 'detached' });
    });

    test('a storage is created, grows, and is deleted', async () => {
      const { page } = visit;
      await go('/storages');
      await button('New storage').click();
      await dialog().getByLabel('Name').fill('scratch');
      await dialog().getByLabel('Size').fill('64Mi');
      await confirm('Create');
      await main().getByRole('link', { name: 'scratch' }).click();
      await button('Resize').click();
      await dialog().getByLabel('Size').fill('much');
      await dialog().getByText('An amount, such as 100Gi').waitFor();
      await dialog().getByLabel('Size').fill('128Mi');
      await confirm('Resize');
      await main().getByText('128 MiB').waitFor();
      await button('Delete').click();
      await confirm('Delete', 'scratch');
      await page.waitForURL(platform().at('/storages'));
      await row('scratch').waitFor({ state: 'detached' });
    });

    test('a quota limits storage, and is deleted', async () => {
      await go('/tenancy?tab=quotas');
      await button('Limit a workspace').click();
      await dialog().getByLabel('Storage').fill('ten');
      await dialog().getByText('An amount, such as 10Ti').waitFor();
      await dialog().getByLabel('Storage').fill('10Ti');
      await confirm('Limit');
      await row('10Ti of storage').getByRole('button', { name: 'Change' }).click();
      await dialog().getByLabel('Storage').fill('');
      expect(await dialog().getByRole('button', { name: 'Change', exact: true }).isDisabled()).toBe(true);
      await dialog().getByLabel('GPUs of all models').fill('8');
      await dialog().getByLabel('GPUs by model').fill('H100=4');
      await confirm('Change');
      await row('8 GPUs, 4 H100').waitFor();
      await row('8 GPUs, 4 H100').getByRole('button', { name: 'Delete' }).click();
      await confirm('Delete');
      await main().getByText('No workspace is limited').waitFor();
    });

    test('a member is added and removed', async () => {
      await go('/tenancy?tab=members');
      await button('Add a member').click();
      await dialog().getByLabel('Name').fill('ann');
      await confirm('Add');
      await row('ann').getByText('user', { exact: true }).waitFor();
      await row('ann').getByRole('button', { name: 'Change' }).click();
      await dialog().getByRole('combobox', { name: 'Role' }).click();
      await visit.page.getByRole('option', { name: /^viewer/ }).click();
      await confirm('Change');
      await row('ann').getByText('viewer', { exact: true }).waitFor();
      await expect.poll(() => row('ann').count()).toBe(1);
      await row('ann').getByRole('button', { name: 'Remove' }).click();
      await confirm('Remove');
      await row('ann').waitFor({ state: 'detached' });
    });

    test('a workspace is created, entered with the switcher, and deleted', async () => {
      const { page } = visit;
      await page.goto(`${platform().url}/w/root:main/tenancy?tab=workspaces`);
      await button('New workspace').click();
      await dialog().getByLabel('Name').fill('vision');
      await confirm('Create');
      await row('vision').getByText('Ready').waitFor();
      await page.getByRole('button', { name: /^Switch the workspace/ }).click();
      await page.getByLabel('Find a workspace').fill('main:vis');
      await page.getByRole('button', { name: 'root:main:vision' }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`${platform().url}/w/root:main:vision`);
      await main().getByRole('heading', { name: 'Nothing runs here yet' }).waitFor();
      await page.goto(`${platform().url}/w/root:main/tenancy?tab=workspaces`);
      await row('vision').getByRole('button', { name: 'Delete' }).click();
      await confirm('Delete', 'vision');
      await row('vision').getByText('Ready').waitFor({ state: 'detached' });
    });

    test('the audit log is searched, and the usage saved as CSV', async () => {
      const { page } = visit;
      await go('/tenancy?tab=audit');
      await main().getByLabel('Verb').fill('create');
      await main().getByLabel('Resource').fill('configmaps');
      await button('Search').click();
      await row('gpuunits').first().waitFor({ state: 'detached' });
      await row('configmaps default').filter({ hasText: 'kubernetes-admin' }).first().getByText('201').waitFor();
      await main().getByLabel('Since').fill('2099-01-01T00:00');
      await button('Search').click();
      await main().getByText('No event matches').waitFor();
      await page.getByRole('tab', { name: 'Usage' }).click();
      await main().getByText('Workspace', { exact: true }).click();
      await main().locator('canvas').first().waitFor();
      const [download] = await Promise.all([page.waitForEvent('download'), button('CSV').click()]);
      expect(download.suggestedFilename()).toBe('usage-root-main-default-workspace.csv');
      expect(readFileSync(await download.path(), 'utf8')).toMatch(/^workspace,gpu_seconds,/);
    });

    test('a machine gets a command to join, which can be copied', async () => {
      const { page } = visit;
      await go('/fleet');
      await button('Add a machine').click();
      await dialog().getByLabel('Name of the node').fill('gpu-1');
      await page.keyboard.press('Enter');
      await dialog().getByText('Waiting until gpu-1 joins').waitFor();
      await dialog().getByRole('button', { name: 'Copy the command' }).click();
      const copied = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(copied).toBe(await dialog().locator('pre').textContent());
      expect(copied).toContain('curl');
    });

    test('a node is cordoned, uncordoned, drained, and in maintenance for a while', async () => {
      await go('/fleet/{node}');
      await button('Cordon').click();
      await button('Uncordon').click();
      await button('Drain').click();
      await confirm('Drain');
      await button('Uncordon').click();
      await button('Cordon').waitFor();
      await button('More').click();
      await visit.page.getByRole('menuitem', { name: 'Begin maintenance' }).click();
      await main().getByText('Maintenance', { exact: true }).waitFor();
      await button('Uncordon').click();
      await button('Cordon').waitFor();
    });

    test('a task of a node leads to its output', async () => {
      await platform().capstan(
        'task',
        'run',
        platform().node,
        'collect.logs',
        '--set',
        'files=["/etc/passwd"]',
        '--name',
        'look',
        '--follow',
      );
      await go('/fleet/{node}');
      await main().getByRole('link', { name: 'look', exact: true }).click();
      await main().getByRole('heading', { name: 'Output of look' }).waitFor();
      await main().getByText('· ended').waitFor();
      await main().getByRole('region', { name: 'Output of the program' }).getByText('root:').first().waitFor();
    });

    test('an object is applied, changed after a dry run that shows the differences, and deleted', async () => {
      const { page } = visit;
      const write = async (text: string): Promise<void> => {
        await page.getByRole('textbox', { name: 'YAML' }).click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText(text);
      };
      const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: written\n  namespace: default\ndata:\n  level: ';
      await go('/api');
      await main().getByRole('link', { name: 'Create from YAML' }).click();
      await page.getByRole('textbox', { name: 'YAML' }).waitFor();
      await write(`${yaml}info\n`);
      await button('Apply').click();
      await page.waitForURL(platform().at('/api/core/v1/configmaps/default/written'));
      await page.getByRole('textbox', { name: 'YAML' }).getByText('info').waitFor();
      await write(`${yaml}debug\n`);
      await button('Dry run').click();
      await main().getByText('The server would store this.').waitFor();
      await main().locator('.cm-deletedChunk').getByText('info').waitFor();
      await button('Back to the text').click();
      await button('Dry run').waitFor();
      await button('Save').click();
      await page.getByText('written was saved').waitFor();
      const path = '/api/v1/namespaces/default/configmaps/written';
      const stored = (await platform().kube(path)) as { data: object };
      expect(stored).toMatchObject({ data: { level: 'debug' } });
      await platform().kube(path, { method: 'PUT', body: { ...stored, data: { level: 'changed elsewhere' } } });
      await main().getByText('It has changed on the server').waitFor();
      await button('Load').click();
      await page.getByRole('textbox', { name: 'YAML' }).getByText('changed elsewhere').waitFor();
      await button('Delete').click();
      await confirm('Delete', 'written');
      await page.waitForURL(platform().at('/api/core/v1/configmaps'));
      await row('written').waitFor({ state: 'detached' });
    });

    test('a link signs in, even if the question who is signed in is answered later', async () => {
      await using other = await platform().visit();
      const { page } = other;
      const signedIn = Promise.withResolvers<void>();
      await page.route('**/session', async (route) => {
        const response = await route.fetch();
        if (route.request().method() === 'GET') await signedIn.promise;
        await route.fulfill({ response });
        signedIn.resolve();
      });
      await page.goto(await platform().link());
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await page.getByRole('heading', { name: 'Sign in to Capstan' }).count()).toBe(0);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    });

    test('the palette opens an object, the colours change, and a person signs out', async () => {
      await using other = await platform().visit();
      const { page } = other;
      await page.goto(await platform().link());
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.keyboard.type('waits');
      await page.getByRole('option', { name: /^waits/, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(`${platform().url}/w/${workspace}/units/default/waits`);
      await page.getByRole('button', { name: 'Use dark colours' }).click();
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
      await page.getByRole('button', { name: 'kubernetes-admin' }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in to Capstan' }).waitFor();
      expect(await page.evaluate('fetch("/session").then(({ status }) => status)')).toBe(401);
    });

    test('no page complained', () => expect(visit.complaints).toEqual([]));
  });
}
