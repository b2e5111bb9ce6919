import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Visit } from './browser.ts';
import { showExample } from './example/cloud.ts';
import type { LiveAnswer } from './live.ts';
import type { ConsolePlatform } from './platform.ts';

const refusal = { kind: 'Status', status: 'Failure', code: 403, reason: 'Forbidden', message: 'not today' };
const failure = { status: 500, json: { kind: 'Status', status: 'Failure', code: 500, message: 'out of order' } };

/** Parts of pages whose data does not come, or comes late. */
export function testTrouble(platform: () => ConsolePlatform): void {
  describe('when something does not come', () => {
    let visit: Visit;
    /** By the plural of the kind; everything else is that of the example. */
    let answers: Record<string, LiveAnswer | Promise<LiveAnswer>> = {};
    beforeAll(async () => {
      visit = await platform().ownerVisit();
      await showExample(visit.page, (path) => answers[path.slice(path.lastIndexOf('/') + 1)]);
    });
    afterAll(() => visit?.[Symbol.asyncDispose]());

    const main = () => visit.page.locator('main');
    const button = (name: string) => main().getByRole('button', { name, exact: true });
    const show = (path: string, instead: typeof answers = {}) => {
      answers = instead;
      return visit.page.goto(platform().at(path));
    };

    test('an operation of an app waits until the app is there, because it may have parameters', async () => {
      const { page } = visit;
      const app = Promise.withResolvers<LiveAnswer>();
      await show('/apps/default/serving', { apps: app.promise });
      await main().getByText('Renew certificates').waitFor();
      expect(await button('Save a snapshot').isDisabled()).toBe(true);
      expect(await button('Make everything as it should be').isDisabled()).toBe(false);
      const parameters = { type: 'object', properties: { name: { type: 'string' } } };
      const operations = ['snapshot', 'restore'].map((name) => ({
        name,
        title: name,
        scope: 'instance',
        isDestructive: false,
        parameters,
      }));
      app.resolve({ items: [{ metadata: { name: 'k3s' }, spec: { versions: [], operations } }] });
      await button('Save a snapshot').click();
      await page.getByRole('dialog').getByLabel('Name').waitFor();
      // Its app does not have it any more.
      await page.keyboard.press('Escape');
      expect(await button('Renew certificates').getAttribute('aria-disabled')).toBe('true');
    });

    test('GPUs do not look free before their bookings are there', async () => {
      const bookings = Promise.withResolvers<LiveAnswer>();
      await show('/fleet', { nodebookings: bookings.promise });
      await main().getByText('Loading nodes…').waitFor();
      await visit.settled();
      expect(await main().getByText('gpu-01').count()).toBe(0);
      bookings.resolve({ status: refusal });
      await main().getByText('not today').waitFor();
      answers = {};
      await button('Try again').click();
      await main().getByRole('link', { name: 'gpu-01' }).waitFor();
    });

    test('something that may not be seen is asked for again', async () => {
      await show('/units', { gpuunits: { status: refusal } });
      await main().getByText('You may not see GPU units here').waitFor();
      answers = {};
      await button('Try again').click();
      await main().getByRole('link', { name: 'llama-finetune' }).waitFor();
    });

    test.each([
      ['the limits', '/tenancy?tab=quotas', 'computeusages', 'You may not see limits here'],
      ['the limits of the queue', '/allocations', 'computeusages', 'You may not see limits here'],
      ['the nodes that need help', '', 'gpunodes', 'You may not see nodes here'],
    ])('%s are not silently absent', async (_what, path, kind, title) => {
      await show(path, { [kind]: { status: refusal } });
      await main().getByText(title).waitFor();
    });

    test.each([
      ['nothing is offered', { items: [] }, 'Nothing is offered here yet.'],
      ['offerings may not be seen', { status: refusal }, 'You may not see offerings here.'],
    ])('forms say that %s', async (_what, answer, text) => {
      const { page } = visit;
      await show('/allocations', { offerings: answer });
      await button('Order GPUs').click();
      await page.getByRole('dialog').getByText(text).waitFor();
      await page.keyboard.press('Escape');
      await show('/units/new', { offerings: answer });
      await main().getByText(text).waitFor();
    });

    test('plots that could not be read are tried again, and go on with what the stream brings', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      const readings = Promise.withResolvers<LiveAnswer>();
      await showExample(page, (path) => (path.endsWith('/capstan/metrics/nodes') ? readings.promise : undefined));
      let reads = 0;
      await page.route('**/gpunodes/*/metrics*', (route) => (reads++ === 0 ? route.fulfill(failure) : route.fallback()));
      await page.goto(platform().at('/fleet/gpu-04'));
      await page.getByText('out of order').waitFor();
      await page.getByRole('button', { name: 'Try again' }).click();
      const temperature = page.getByRole('figure').filter({ hasText: 'Temperature' });
      await temperature.waitFor();
      readings.resolve({ values: ['capstan_gpu_temperature_celsius{node="gpu-04",gpu="GPU-gpu-04-0"} 99'] });
      await temperature.getByText('99 °C').waitFor();
      expect(reads).toBe(2);
    });

    test('GPUs that report no numbers say so', async () => {
      const { page } = visit;
      await page.route('**/gpunodes/*/metrics*', (route) => route.fulfill({ json: { node: 'gpu-04', at: '', gpus: [] } }));
      await show('/fleet/gpu-04');
      await main().getByText('The GPUs have reported no numbers.').waitFor();
    });

    test('a kubeconfig that could not be read is tried again', async () => {
      const { page } = visit;
      let reads = 0;
      await page.route('**/logicalclusters/*', (route) => (reads++ === 0 ? route.fulfill(failure) : route.fallback()));
      await show('/apps/default/serving?tab=access');
      await main().getByText('out of order').waitFor();
      await button('Try again').click();
      await button('Download without credentials').waitFor();
    });

    test('an output that could not be read is tried again', async () => {
      const { page } = visit;
      let reads = 0;
      await page.route('**/pods/*/log?*', (route) => (reads++ === 0 ? route.fulfill(failure) : route.fallback()));
      await show('/units/default/llama-finetune?tab=logs');
      await main().getByText('The output cannot be read').waitFor();
      await button('Try again').click();
      await main().getByText('tokens/s').first().waitFor();
    });

    test('an output that is not there yet is asked for less and less often', async () => {
      await using other = await platform().ownerVisit();
      const { page } = other;
      await showExample(page);
      let reads = 0;
      await page.route('**/pods/*/log?*', (route) => {
        reads++;
        return route.fulfill({ status: 404, json: { kind: 'Status', status: 'Failure', code: 404, reason: 'NotFound', message: 'none' } });
      });
      await page.clock.install();
      await page.goto(platform().at('/units/default/llama-finetune?tab=logs'));
      await page.getByText('There is no output').waitFor();
      for (let seconds = 0; seconds < 60; seconds += 2) {
        await page.clock.runFor(2000);
        await other.settled();
      }
      expect(reads).toBeGreaterThan(2);
      expect(reads).toBeLessThan(10);
    });
  });
}
