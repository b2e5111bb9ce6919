import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Visit } from './browser.ts';
import { ConsolePlatform } from './platform.ts';

await buildCapstan();

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const configMaps = '/api/v1/namespaces/default/configmaps';
const group = 'rbac.authorization.k8s.io';

describeUnless(await skipReason(['chromium']), 'sessions of the console', () => {
  let platform: ConsolePlatform;
  let viewer: Visit;

  beforeAll(async () => {
    platform = await ConsolePlatform.start();
    await platform.capstan('offering', 'create', 'small', '--cpu', '200m', '--memory', '128Mi');
    await platform.capstan('run', '--network', 'none', '--no-upload', '-d', '--name', 'waits', '--cpu', '4000', '--', 'true');
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

  test.each([
    ['/units', 'waits'],
    ['/units/default/waits', 'Conditions'],
    ['/storages', 'No storages yet'],
    ['/allocations', 'small'],
  ])('a viewer sees no button at %s that they may not press', async (path, shows) => {
    const buttons = ['New unit', 'New storage', 'Create', 'Stop', 'Delete', 'Order GPUs', 'New offering'].join('|');
    const forbidden = new RegExp(`^(${buttons})$`);
    await using owner = await platform.ownerVisit();
    const counts = await Promise.all(
      [owner, viewer].map(async ({ page }) => {
        await page.goto(platform.at(path));
        await page.locator('main').getByText(shows).first().waitFor();
        // The buttons of the owner appear after the page has asked for their rights; those of a viewer would too.
        await page.waitForLoadState('networkidle');
        const main = page.locator('main');
        return (await main.getByRole('button', { name: forbidden }).count()) + (await main.getByRole('link', { name: forbidden }).count());
      }),
    );
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts[1]).toBe(0);
  });

  test('a viewer has no fleet, and no terminal in a unit', async () => {
    const { page } = viewer;
    await page.goto(platform.at('/units/default/waits'));
    await page.getByRole('tab', { name: 'Logs' }).waitFor();
    expect(await page.getByRole('tab', { name: 'Terminal' }).count()).toBe(0);
    expect(await page.getByRole('navigation', { name: 'Pages' }).getByText('Fleet').count()).toBe(0);
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
