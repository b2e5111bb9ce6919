import { type Host, requireTool } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AppPlatform, project } from '../apps/platform.ts';
import { slurmProblem } from '../apps/slurm-cluster.ts';
import { openVisit, patience, startBrowser, type Visit } from './browser.ts';

const timeout = 240_000;
/** The administrator, whose shells have the account with their own name. */
const user = 'kubernetes-admin';
const problem = (await skipReason(['chromium'])) ?? (await slurmProblem());

describeUnless(problem, 'a Slurm cluster in the console', () => {
  const stack = new AsyncDisposableStack();
  const hosts: Host[] = [];
  let visit: Visit;
  const button = (name: string) => visit.page.getByRole('button', { name, exact: true });
  const choose = async (label: string, option: RegExp): Promise<void> => {
    await visit.page.getByRole('combobox', { name: label }).click();
    await visit.page.getByRole('option', { name: option }).click();
  };

  beforeAll(async () => {
    const offerPackages = await requireTool('slurm');
    const platform = stack.use(await AppPlatform.start());
    const prepare = async (host: Host): Promise<void> => expect(await host.run([offerPackages])).toMatchObject({ code: 0 });
    for (const name of ['n1', 'n2']) hosts.push(await platform.addNode(name, prepare));
    const browser: Browser = await startBrowser();
    stack.defer(() => browser.close());
    visit = stack.use(await openVisit(browser));
    const link = new URL(await platform.consoleLink());
    await visit.page.goto(link.href);
    await visit.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    await visit.page.goto(`${link.origin}/w/${project}`);
  }, timeout);
  afterAll(() => stack.disposeAsync());

  test('an owner offers whole nodes, and orders two', async () => {
    const { page } = visit;
    await page.getByRole('navigation', { name: 'Pages' }).getByText('Allocations').click();
    await button('New offering').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('whole');
    await dialog.getByLabel('GPUs').fill('1');
    await dialog.getByLabel('A whole node, and nobody else on it').check();
    await dialog.getByRole('button', { name: 'Offer' }).click();
    await page.getByRole('table', { name: 'Offerings' }).getByText('whole', { exact: true }).waitFor();
    for (const name of ['head', 'worker']) {
      await button('Order GPUs').first().click();
      await dialog.getByLabel('Name').fill(name);
      await choose('Offering', /^whole/);
      await dialog.getByRole('button', { name: 'Order', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    const granted = page.getByRole('table', { name: 'Orders with devices' });
    await expect.poll(() => granted.getByText('Active', { exact: true }).count(), { timeout: patience }).toBe(2);
  });

  test('the catalog offers Slurm, and a form leads to its plan', async () => {
    const { page } = visit;
    await page.getByRole('navigation', { name: 'Pages' }).getByText('Catalog').click();
    await page
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: 'Slurm' }) })
      .getByRole('link', { name: 'Deploy' })
      .click();
    await page.getByLabel('Name').fill('lab');
    await choose('Controller allocation', /^head/);
    await choose('Compute allocations', /^worker/);
    await page.keyboard.press('Escape');
    await page.getByLabel('Users').fill(JSON.stringify([{ name: user, uid: 2001 }]));
    // Control groups of this machine may be mixed ones, which Slurm does not use.
    await choose('Confinement', /^none/);
    await button('Show the plan').click();
    await page.getByRole('heading', { name: 'Plan' }).waitFor();
    await page.getByText('Nothing was done yet.').waitFor();
    expect(await hosts[0]!.run(['pgrep', 'slurm'])).toMatchObject({ code: 1 });
  });

  test(
    'the page of the instance shows its steps until it runs',
    async () => {
      const { page } = visit;
      await button('Deploy').click();
      await page.waitForURL(/\/apps\/default\/lab/);
      await page.getByRole('tab', { name: 'Operations' }).click();
      await page.getByText(/^[1-9]\d* of \d+ steps$/).waitFor();
      await page.getByText('Running', { exact: true }).first().waitFor({ timeout });
      const operation = page.getByRole('group').filter({ hasText: 'deploy' });
      await operation.getByText('Succeeded').first().waitFor();
    },
    timeout,
  );

  test('a shell in the page runs a job with a GPU', async () => {
    const { page } = visit;
    await page.getByRole('tab', { name: 'Access' }).click();
    await button('Open a shell here').click();
    const screen = page.locator('.xterm-rows');
    await screen
      .getByText(/[#$]\s*$/)
      .first()
      .waitFor();
    await page.keyboard.type('srun --chdir=/tmp --gres=gpu:1 sh -c \'echo "job of $(id -un) got GPU $CUDA_VISIBLE_DEVICES"\'\n');
    await screen.getByText(`job of ${user} got GPU 0`).waitFor();
  });

  test(
    'it is deleted from the nodes, and the nodes are released',
    async () => {
      const { page } = visit;
      await button('Delete').click();
      const dialog = page.getByRole('dialog', { name: 'Delete lab?' });
      await dialog.getByLabel('Type lab to confirm').fill('lab');
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('There is no app instance lab').waitFor({ timeout });
      for (const host of hosts) expect(await host.run(['pgrep', 'slurm'])).toMatchObject({ code: 1 });
      await page.getByRole('navigation', { name: 'Pages' }).getByText('Allocations').click();
      for (const name of ['head', 'worker']) {
        await page
          .getByRole('row', { name: new RegExp(`^${name}`) })
          .getByRole('button', { name: 'Release' })
          .click();
        await page.getByRole('dialog').getByRole('button', { name: 'Release' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await page.getByText('Nothing is ordered').waitFor();
    },
    timeout,
  );

  test('no page complained', () => expect(visit.complaints).toEqual([]));
});
