import { type WorkspaceType, workspaceTypeKind } from '@capstan/api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type SharingTenants, startSharingTenants } from '../../../suite/sharing-tenants.ts';
import { logicalClusterAt, make, workspace } from '../../../suite/tenants.ts';
import { bindings, cowboyExport, exports, offer } from '../../testing.ts';

let tenants: SharingTenants;
beforeAll(async () => {
  tenants = await startSharingTenants();
});
afterAll(() => tenants[Symbol.asyncDispose]());

const typeOf = (name: string, spec: object): WorkspaceType => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'WorkspaceType',
  metadata: { name },
  spec,
});
const types = () => tenants.client.cluster('root').resource<WorkspaceType>(workspaceTypeKind);
const add = (name: string, exported: string): Promise<unknown> =>
  types().patch(name, {
    type: 'json',
    patch: [{ op: 'add', path: '/spec/defaultAPIBindings/-', value: { path: 'root', export: exported } }],
  });

async function boundIn(name: string): Promise<string[]> {
  const { items } = await bindings(tenants.client.cluster(`root:${name}`)).list();
  return items.filter(({ status }) => status?.phase === 'Bound').map(({ spec }) => spec!.reference!.export!.name);
}

test('creates bindings in existing workspaces that their type has started to maintain', async () => {
  const root = tenants.client.cluster('root');
  await offer(root, 'cowboys');
  const bound = { path: 'root', export: 'tenancy.kcp.io' };
  const extend = { with: [{ name: 'universal', path: 'root' }] };
  await types().create(typeOf('looked-after', { extend, defaultAPIBindings: [bound], defaultAPIBindingLifecycle: 'Maintain' }));
  await types().create(typeOf('derived', { extend: { with: [{ name: 'looked-after', path: 'root' }] } }));
  await types().create(typeOf('left-alone', { extend, defaultAPIBindings: [bound], defaultAPIBindingLifecycle: 'InitializeOnly' }));
  for (const name of ['looked-after', 'derived', 'left-alone'])
    await make(tenants.client, 'root', workspace(`a-${name}`, { type: { name, path: 'root' } }));

  await add('left-alone', 'cowboys');
  await add('looked-after', 'cowboys');
  for (const name of ['a-looked-after', 'a-derived'])
    await vi.waitFor(async () => expect((await boundIn(name)).sort()).toContain('cowboys'), { timeout: 10_000, interval: 50 });
  expect(await boundIn('a-left-alone')).not.toContain('cowboys');

  // A new workspace is bound once, when it is created.
  await make(tenants.client, 'root', workspace('newer', { type: { name: 'looked-after', path: 'root' } }));
  await vi.waitFor(async () => expect(await boundIn('newer')).toContain('cowboys'), { timeout: 10_000, interval: 50 });
  expect(
    (await bindings(tenants.client.cluster('root:newer')).list()).items.filter(({ spec }) => spec?.reference?.export?.name === 'cowboys'),
  ).toHaveLength(1);

  // An export that is created after the type that names it.
  await add('looked-after', 'late');
  const reconciled = async (name: string): Promise<object | undefined> =>
    (await logicalClusterAt(tenants.client, `root:${name}`)).status?.conditions?.find(({ type }) => type === 'APIBindingsReconciled');
  await vi.waitFor(
    async () =>
      expect(await reconciled('newer')).toMatchObject({
        status: 'False',
        reason: 'WaitingOnAPIBindings',
        message: 'APIBinding(s) not yet fully reconciled: for APIExport root|late',
      }),
    { timeout: 10_000, interval: 50 },
  );
  await exports(root).create({ ...cowboyExport('late', 'today'), spec: { resources: [] } });
  for (const name of ['a-looked-after', 'a-derived', 'newer'])
    await vi.waitFor(async () => expect(await boundIn(name)).toContain('late'), { timeout: 10_000, interval: 50 });
  await vi.waitFor(async () => expect(await reconciled('newer')).toMatchObject({ status: 'True' }), { timeout: 10_000, interval: 50 });
  expect(await reconciled('a-left-alone')).toBeUndefined();
});
