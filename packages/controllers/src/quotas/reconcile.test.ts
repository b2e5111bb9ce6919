import { done, requeueAfter } from '@capstan/controller';
import { type KubeObject, parseQuantity, readAmounts, zeroQuantity } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { type QuotaActions, reconcileQuota } from './reconcile.ts';

const quota = (hard: object, status: object = {}, spec: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard, ...spec }, status }) as KubeObject;

function recording(used: Readonly<Record<string, object>>, more: Partial<QuotaActions> = {}) {
  const written: unknown[] = [];
  const asked: string[] = [];
  const actions: QuotaActions = {
    usage: async (source, scopes) => {
      asked.push(`${source} ${scopes.map(({ scopeName }) => scopeName).join()}`.trim());
      return Object.hasOwn(used, source) ? { type: 'known', amounts: readAmounts(used[source]) } : { type: 'unknown' };
    },
    pending: () => ({ amount: zeroQuantity, wait: 0 }),
    writeStatus: async ({ status }) => written.push(status),
    ...more,
  };
  return { actions, written, asked };
}

test('writes the usage beside the limits', async () => {
  const { actions, written, asked } = recording({ configmaps: { configmaps: '3' }, pods: { cpu: '1500m', 'limits.cpu': '2' } });
  expect(await reconcileQuota(quota({ configmaps: '5', cpu: '2', pods: '9' }), actions)).toEqual(done);
  expect(written).toEqual([{ hard: { configmaps: '5', cpu: '2', pods: '9' }, used: { configmaps: '3', cpu: '1500m', pods: '0' } }]);
  expect(asked).toEqual(['configmaps', 'pods']);
});

test('counts only objects within the scopes', async () => {
  const { actions, asked } = recording({ pods: {} });
  await reconcileQuota(quota({ pods: '1' }, {}, { scopes: ['BestEffort'] }), actions);
  expect(asked).toEqual(['pods BestEffort']);
});

test('writes nothing if nothing differs', async () => {
  const { actions, written } = recording({ pods: { cpu: '1000m' } });
  await reconcileQuota(quota({ cpu: '2' }, { hard: { cpu: '2' }, used: { cpu: '1' } }), actions);
  expect(written).toEqual([]);
});

test('keeps the usage of kinds that cannot be counted, and drops the usage of those that are no longer limited', async () => {
  const { actions, written } = recording({});
  const before = { hard: { 'count/x.gone': '1', secrets: '2' }, used: { 'count/x.gone': '1', secrets: '2' } };
  await reconcileQuota(quota({ 'count/x.gone': '1', 'count/x.never': '1' }, before), actions);
  expect(written).toEqual([{ hard: { 'count/x.gone': '1', 'count/x.never': '1' }, used: { 'count/x.gone': '1' } }]);
});

test('looks again later if a count is not known yet', async () => {
  const { actions, written } = recording({ pods: {} }, { usage: async () => ({ type: 'later' }) });
  expect(await reconcileQuota(quota({ pods: '1' }), actions)).toMatchObject({ type: 'requeueAfter' });
  expect(written).toEqual([{ hard: { pods: '1' }, used: {} }]);
});

test('lowers usage, but not by recent charges', async () => {
  const pending = (name: string) => (name === 'pods' ? { amount: parseQuantity('2'), wait: 700 } : { amount: zeroQuantity, wait: 0 });
  const { actions, written } = recording({ pods: { pods: '1', cpu: '1' } }, { pending });
  const status = { hard: { pods: '5', cpu: '5' }, used: { pods: '5', cpu: '2' } };
  expect(await reconcileQuota(quota({ pods: '5', cpu: '5' }, status), actions)).toEqual(requeueAfter(700));
  expect(written).toEqual([{ hard: { pods: '5', cpu: '5' }, used: { pods: '3', cpu: '1' } }]);
});

test('raises usage at once, and not because of pending charges', async () => {
  const pending = () => ({ amount: parseQuantity('9'), wait: 700 });
  const { actions, written } = recording({ pods: { pods: '3' } }, { pending });
  expect(await reconcileQuota(quota({ pods: '5' }, { hard: { pods: '5' }, used: { pods: '2' } }), actions)).toEqual(done);
  await reconcileQuota(quota({ pods: '5' }, { hard: { pods: '5' }, used: { pods: '4' } }), actions);
  expect(written).toEqual([{ hard: { pods: '5' }, used: { pods: '3' } }]);
});

test('lowers nothing while recent charges are unknown', async () => {
  const { actions, written } = recording({ pods: {} }, { pending: () => ({ amount: undefined, wait: 300 }) });
  expect(await reconcileQuota(quota({ pods: '5' }, { hard: { pods: '5' }, used: { pods: '2' } }), actions)).toEqual(requeueAfter(300));
  expect(written).toEqual([]);
});
