import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { type DefaultsActions, isArriving, reconcileDefaults } from './reconcile.ts';

const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
const account: KubeObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'shop' } };
const map = (data: Record<string, string>, annotations: Record<string, string> = { 'kubernetes.io/description': 'ours' }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'kube-root-ca.crt', namespace: 'shop', annotations },
  data,
});

async function writesFor(given: Partial<DefaultsActions>, of: KubeObject | undefined = namespace): Promise<[string, KubeObject][]> {
  const writes: [string, KubeObject][] = [];
  await reconcileDefaults(of, {
    readAccount: async () => account,
    readAuthority: async () => map({ 'ca.crt': 'PEM' }),
    create: async (object) => writes.push(['create', object]),
    update: async (object) => writes.push(['update', object]),
    authority: 'PEM',
    ...given,
  });
  return writes;
}

test.each([
  ['default', 'abc', 1_000, true],
  ['kube-system', 'abc', 0, true],
  ['default', 'abc', 2_000, false],
  // The clocks differ.
  ['default', 'abc', -60_000, false],
  ['shop', 'abc', 0, false],
  ['default', 'root', 0, false],
  ['default', undefined, 0, false],
])('the objects of namespace %s of workspace %s, %d ms old, are on their way: %s', (name, cluster, age, expected) => {
  const created: KubeObject = { ...namespace, metadata: { name, creationTimestamp: '2026-01-01T00:00:00Z' } };
  expect(isArriving(created, cluster, Date.parse('2026-01-01T00:00:00Z') + age)).toBe(expected);
});

test('writes nothing if both objects are right', async () => {
  expect(await writesFor({})).toEqual([]);
});

test('creates missing objects', async () => {
  const writes = await writesFor({ readAccount: async () => undefined, readAuthority: async () => undefined });
  expect(writes).toEqual([
    ['create', account],
    ['create', expect.objectContaining({ kind: 'ConfigMap', data: { 'ca.crt': 'PEM' } })],
  ]);
});

test.each([
  ['another authority', map({ 'ca.crt': 'THEIRS' })],
  ['a second authority', map({ 'ca.crt': 'PEM', more: 'THEIRS' })],
  ['no description', map({ 'ca.crt': 'PEM' }, {})],
  ['no data', { ...map({}), data: undefined }],
])('restores a ConfigMap with %s', async (_what, wrong) => {
  const writes = await writesFor({ readAuthority: async () => wrong });
  expect(writes).toEqual([['update', expect.objectContaining({ data: { 'ca.crt': 'PEM' } })]]);
  expect(writes[0]?.[1].metadata.annotations?.['kubernetes.io/description']).not.toBe('');
});

test('leaves a namespace alone that is being deleted or gone', async () => {
  const ending = { ...namespace, metadata: { name: 'shop', deletionTimestamp: 'now' } };
  const missing = { readAccount: async () => undefined, readAuthority: async () => undefined };
  expect(await writesFor(missing, ending)).toEqual([]);
  await reconcileDefaults(undefined, {} as DefaultsActions);
});

test('keeps only the account if the authority is not known', async () => {
  const writes = await writesFor({ readAccount: async () => undefined, readAuthority: async () => undefined, authority: undefined });
  expect(writes.map(([, { kind }]) => kind)).toEqual(['ServiceAccount']);
});
