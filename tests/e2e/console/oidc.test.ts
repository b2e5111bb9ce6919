import { resolve } from 'node:path';
import { startTestServer } from '@capstan/apiserver/testing';
import { adminConnection, type ConsoleSuite, startSuite } from '@capstan/console/testing';
import { clientId, startProvider } from '@capstan/console/testing-provider';
import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openVisit, startBrowser, type Visit, violations } from './browser.ts';

await buildCapstan();

const pagesDirectory = resolve(import.meta.dirname, '../../../apps/cli/dist/console');

describeUnless(await skipReason(['chromium']), 'signing in at an organization', () => {
  const stack = new AsyncDisposableStack();
  let suite: ConsoleSuite;
  let visit: Visit;

  beforeAll(async () => {
    const provider = stack.use(await startProvider());
    const { issuer, authority } = provider;
    const server = stack.use(
      await startTestServer({
        oidc: [{ issuerUrl: issuer, clientIds: [clientId], usernamePrefix: 'sso:', authorities: authority, audiences: [] }],
      }),
    );
    suite = stack.use(
      await startSuite({
        connection: adminConnection(server.kubeconfigPath),
        pagesDirectory,
        oidc: { issuer, clientId, clientSecret: 'hush', scopes: ['email'], authority },
      }),
    );
    const browser = await startBrowser();
    stack.defer(() => browser.close());
    // Of the provider, whose certificate no browser knows.
    visit = stack.use(await openVisit(browser, { ignoreHTTPSErrors: true }));
  });
  afterAll(() => stack.disposeAsync());

  test('who says no there is told so, and can try again', async () => {
    const { page } = visit;
    await page.goto(suite.url);
    await page.getByRole('link', { name: 'Continue with your organization' }).click();
    await page.getByRole('link', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Sign in to Capstan' }).waitFor();
    await page.getByRole('status').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test('who says yes is signed in with the name that the API server gives', async () => {
    const { page } = visit;
    await page.getByRole('link', { name: 'Continue with your organization' }).click();
    await page.getByRole('link', { name: 'Allow' }).click();
    await page.getByText('sso:jane').first().waitFor();
    expect(new URL(page.url()).search).toBe('');
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(await visit.context.cookies(suite.url)).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
  });
});
