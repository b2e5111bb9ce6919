import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patience, type Visit, violations } from './browser.ts';
import { showExample } from './example/cloud.ts';
import { pages } from './pages.ts';
import { ConsolePlatform, workspace } from './platform.ts';
import { startStranger, theft } from './stranger.ts';

await buildCapstan();

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const configMaps = '/api/v1/namespaces/default/configmaps';
const group = 'rbac.authorization.k8s.io';

/** Words of buttons that change something. */
const acting =
  /^(New|Create|Add|Order|Release|Start|Stop|Delete|Remove|Change|Resize|Recover|Take|Clone|Limit|Deploy|Show the plan|Apply|Save|Dry run|Cordon|Uncordon|Drain|More|Upload|Open the files|Open a shell|Repair|Restart|Try the failed|Make everything|Go on|End the pause)\b/;
/** Pages that tenants do not have. */
const forOwners = new Set(['fleet', 'node']);
/** Forms say that they are not for viewers. */
const viewerSees: Readonly<Record<string, string>> = {
  'new-unit': 'You may not create units',
  'new-app': 'You may not deploy apps',
  'new-object': 'You may not create or change anything',
};

describeUnless(await skipReason(['chromium']), 'sessions of the console', () => {
  let platform: ConsolePlatform;
  let viewer: Visit;
  let owner: Visit;
  /** The viewer, who sees the cloud of the example. */
  let busy: Visit;

  beforeAll(async () => {
    platform = await ConsolePlatform.start();
    await platform.prepare();
    await platform.kube(accounts, { method: 'POST', body: { metadata: { name: 'reader' } } });
    await platform.kube(`/apis/${group}/v1/clusterrolebindings`, {
      method: 'POST',
      body: {
        metadata: { name: 'reader' },
        roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'viewer' },
        subjects: [{ kind: 'ServiceAccount', namespace: 'default', name: 'reader' }],
      },
    });
    viewer = await platform.visit();
    owner = await platform.ownerVisit();
  });
  afterAll(() => platform?.[Symbol.asyncDispose]());

  test('a token signs in a viewer, at the page that was asked for', async () => {
    const { status } = (await platform.kube(`${accounts}/reader/token`, { method: 'POST', body: { spec: {} } })) as {
      status: { token: string };
    };
    const { page } = viewer;
    await page.goto(platform.at('/units'));
    await page.getByLabel('Bearer token').fill(status.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'waits' }).waitFor();
    expect(page.url()).toBe(platform.at('/units'));
  });

  test('the same session shows other pages', async () => {
    busy = await platform.visit({ storageState: await viewer.context.storageState() });
    await showExample(busy.page);
    await busy.page.goto(platform.at('/units'));
    await busy.page.getByRole('link', { name: 'llama-finetune' }).waitFor();
  });

  /** Everything in a page that can be pressed, apart from the headers of columns and those that only look. */
  async function pressable({ page }: Visit): Promise<readonly string[]> {
    const names = await page.evaluate<string[]>(`[...document.querySelectorAll('main button, main a[href]')]
      .filter((one) => one.closest('thead, [role=tablist], nav') === null && one.checkVisibility())
      .map((one) => (one.getAttribute('aria-label') ?? one.textContent).trim())`);
    return names.filter((name) => acting.test(name));
  }

  test.each(pages.filter(({ name }) => !forOwners.has(name)))('a viewer sees no button at $name that they may not press', async (one) => {
    const { page } = viewer;
    await page.goto(platform.at(one.path));
    const main = page.locator('main');
    // Which tabs of the tenancy a viewer has is a matter of roles.
    const content = one.path.startsWith('/tenancy') ? main.getByRole('tabpanel') : main.getByText(viewerSees[one.name] ?? one.shows);
    await content.first().waitFor();
    // Buttons appear after the page has asked for rights.
    await viewer.settled();
    expect(await pressable(viewer)).toEqual([]);
  });

  test('a viewer finds nothing in the palette that would be refused', async () => {
    const { page } = viewer;
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: /waits/ }).waitFor();
    await viewer.settled();
    expect(
      await page
        .getByRole('option')
        .filter({ hasText: /create$/ })
        .count(),
    ).toBe(0);
    await page.keyboard.press('Escape');
  });

  test.each([
    ['/units', ['New unit']],
    ['/units/default/waits', ['Stop', 'Delete']],
    ['/storages/default/datasets', ['Resize', 'Delete']],
    ['/allocations', ['Order GPUs', 'New offering']],
    ['/tenancy?tab=members', ['Add a member']],
    ['/api', ['Create from YAML']],
  ])('an owner sees the buttons at %s', async (path, names) => {
    await owner.page.goto(platform.at(path));
    await expect.poll(() => pressable(owner), { timeout: patience }).toEqual(expect.arrayContaining(names));
  });

  test.each([
    ['an app', '/apps/default/lab', 'Last operation'],
    ['the members of an app', '/apps/default/lab?tab=members', 'lab-gpu-10'],
    ['the access to an app', '/apps/default/lab?tab=access', '10.20.0.18:6817'],
    ['an app that is stuck', '/apps/default/retired', 'Needs help'],
    ['a unit that failed', '/units/default/eval-suite', 'Program'],
    ['a storage that failed', '/storages/default/imagenet', 'Mounted by'],
    ['the queue', '/allocations', 'slurm-head'],
  ])('a viewer looks at %s of a busy cloud, and has no button that they may not press', async (_what, path, shows) => {
    const { page } = busy;
    await page.goto(platform.at(path));
    await page.locator('main').getByText(shows).first().waitFor();
    await busy.settled();
    expect(await pressable(busy)).toEqual([]);
    expect(await violations(page)).toEqual([]);
  });

  test('a viewer has no fleet, and no terminal in a unit', async () => {
    const { page } = viewer;
    await page.goto(platform.at('/units/default/waits'));
    await page.getByRole('tab', { name: 'Logs' }).waitFor();
    expect(await page.getByRole('tab', { name: 'Terminal' }).count()).toBe(0);
    expect(await page.getByRole('navigation', { name: 'Pages' }).getByText('Fleet').count()).toBe(0);
  });

  test('a page of another origin cannot use the session of the same browser', async () => {
    await using stranger = await startStranger();
    await using visit = await platform.ownerVisit();
    await visit.page.goto(stranger.url);
    const outcomes = await visit.page.evaluate(theft(platform.url, `/clusters/${workspace}${configMaps}`));
    expect(outcomes).toEqual({ read: 'failed', write: 'failed', listen: 'failed', include: 'failed', look: 'failed' });
    await expect(platform.kube(`${configMaps}/stolen`)).rejects.toThrow('404');
    // The session itself is fine.
    await visit.page.goto(platform.at('/units'));
    await visit.page.getByRole('link', { name: 'waits' }).waitFor();
  });

  test('a page whose token is revoked leads to the sign-in page by itself, and says why', async () => {
    const { page } = viewer;
    await page.goto(platform.at('/units'));
    await page.getByRole('link', { name: 'waits' }).waitFor();
    await platform.kube(`${accounts}/reader`, { method: 'DELETE' });
    await page.getByRole('heading', { name: 'Sign in to Capstan' }).waitFor();
    await page.getByText('The server no longer accepts your token').waitFor();
  });

  test('a page whose session has expired says so at its own address', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    let expire = (): void => {};
    await page.routeWebSocket(/\/live$/, (stream) => {
      stream.connectToServer();
      expire = () => void stream.close({ code: 4401, reason: 'expired' });
    });
    await page.goto(platform.at('/units'));
    await page.getByRole('link', { name: 'waits' }).waitFor();
    await page.route('**/session', (route) => route.fulfill({ status: 401, json: { code: 'signed_out', ways: ['token'] } }));
    expire();
    await page.getByText('Your session has expired.').waitFor();
    expect(page.url()).toBe(platform.at('/units'));
  });

  test.each([
    ['denied', 'Your organization did not allow the sign-in.'],
    ['refused', 'You are known to your organization, but not to this platform.'],
  ])('the sign-in page explains the trouble %s of a provider', async (trouble, text) => {
    await using visit = await platform.visit();
    await visit.page.goto(`${platform.url}/sign-in?trouble=${trouble}`);
    await visit.page.getByText(text).waitFor();
  });

  test('a page says since when the API server hangs, and shows live data again when it goes on', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    await page.goto(platform.at('/api/core/v1/configmaps'));
    await page.getByText('kube-root-ca.crt').first().waitFor();
    const server = await platform.processOf('apiserver');
    process.kill(server, 'SIGSTOP');
    try {
      await page.getByText(/The API server has not answered since \d\d:\d\d:\d\d\./).waitFor();
    } finally {
      // On a very busy machine, `capstan up` has replaced it by now.
      if ((await platform.processOf('apiserver')) === server) process.kill(server, 'SIGCONT');
    }
    await page.getByText('The connection is restored.').waitFor();
    await platform.kube(configMaps, { method: 'POST', body: { metadata: { name: 'after-the-hang' } } });
    await page.getByText('after-the-hang', { exact: true }).waitFor();
  });

  test('a page says that the console is away, and shows live data again when it has started again', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    await page.goto(platform.at('/api/core/v1/configmaps'));
    await page.getByText('kube-root-ca.crt').first().waitFor();
    await page.evaluate('window.stayed = true');
    const banner = page.getByText(/The console has not answered since \d\d:\d\d:\d\d\./);
    const before = await platform.processOf('console');
    // A process that is back within a second is not worth a word. `capstan up` waits longer and longer before it starts one again.
    const isSeen = async (): Promise<boolean> => {
      process.kill(await platform.processOf('console'), 'SIGKILL');
      return banner.waitFor({ timeout: 5000 }).then(
        () => true,
        () => false,
      );
    };
    await expect.poll(isSeen, { timeout: patience }).toBe(true);
    await page.getByText('kube-root-ca.crt').first().waitFor();
    await page.getByText('The connection is restored.').waitFor();
    expect(await platform.processOf('console')).not.toBe(before);
    await platform.kube(configMaps, { method: 'POST', body: { metadata: { name: 'after-the-console' } } });
    await page.getByText('after-the-console', { exact: true }).waitFor();
    expect(await page.evaluate('window.stayed')).toBe(true);
  });

  test('a page says that the API server is away, and shows live data again when it is back', async () => {
    await using visit = await platform.ownerVisit();
    const { page } = visit;
    await page.goto(platform.at('/api/core/v1/configmaps'));
    await platform.kube(configMaps, { method: 'POST', body: { metadata: { name: 'before' } } });
    await page.getByText('before', { exact: true }).waitFor();
    await page.evaluate('window.stayed = true');
    const seen = page.getByText(/The API server has not answered since/).waitFor();
    process.kill(await platform.processOf('apiserver'), 'SIGKILL');
    await seen;
    await page.getByText('before', { exact: true }).waitFor();
    await page.getByText('The connection is restored.').waitFor();
    await platform.kube(configMaps, { method: 'POST', body: { metadata: { name: 'after' } } });
    await page.getByText('after', { exact: true }).waitFor();
    expect(await page.evaluate('window.stayed')).toBe(true);
  });
});
