import type { Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Visit, violations } from './browser.ts';
import { answerLive, type LiveAnswer } from './live.ts';
import { openWithin } from './navigation.ts';
import { type PageUnderTest, pages } from './pages.ts';
import type { ConsolePlatform } from './platform.ts';

const refusal = { kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message: 'not today' };

/** Loading, empty and error of every page, as if the servers did not answer, had nothing or refused. */
export function testStates(platform: () => ConsolePlatform): void {
  let visit: Visit;

  async function begin(live: LiveAnswer, http: (route: Route) => unknown): Promise<void> {
    visit = await platform().ownerVisit();
    await answerLive(visit.page, () => live);
    await visit.page.route('**/kube/**', (route) => (route.request().url().includes('reviews') ? route.continue() : http(route)));
    await visit.page.goto(`${platform().url}/nowhere`);
  }
  const open = ({ path }: PageUnderTest): Promise<void> => openWithin(visit.page, platform().at(path));
  const withData = pages.filter(({ isForm }) => isForm !== true);

  describe('while the servers have not answered', () => {
    beforeAll(() => begin('silence', () => {}));
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(withData)('$name says what it is loading', async (one) => {
      await open(one);
      await visit.page
        .locator('main')
        .getByRole('status')
        .filter({ hasText: /^Loading .+…$/ })
        .first()
        .waitFor();
    });
  });

  describe('when the servers refuse', () => {
    beforeAll(() => begin({ status: refusal }, (route) => route.fulfill({ status: 403, json: refusal })));
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(withData)('$name says why, and what to do next', async (one) => {
      await open(one);
      const alert = visit.page.locator('main').getByRole('alert').first();
      await alert.getByText('not today').waitFor();
      await alert.getByText('Ask an administrator of the workspace for a role').waitFor();
    });

    test('everybody can read it', async () => expect(await violations(visit.page)).toEqual([]));
  });

  describe('where there is nothing', () => {
    beforeAll(() => begin({ items: [] }, (route) => route.continue()));
    afterAll(() => visit?.[Symbol.asyncDispose]());

    test.each(pages.filter(({ empty }) => empty !== undefined))('$name says so, and what to do first', async (one) => {
      await open(one);
      const heading = visit.page.locator('main').getByRole('heading', { level: 2, name: one.empty! });
      await heading.first().waitFor();
      expect((await heading.first().locator('..').textContent())!.length).toBeGreaterThan(one.empty!.length + 10);
    });

    test('everybody can read it, and no page complained', async () => {
      expect(await violations(visit.page)).toEqual([]);
      expect(visit.complaints).toEqual([]);
    });
  });
}
