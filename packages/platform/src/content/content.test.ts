import {
  type ApiBinding,
  type ApiExport,
  apiBindingKind,
  apiExportKind,
  apiResourceSchemaKind,
  isTrue,
  type KindReference,
  type LogicalCluster,
  logicalClusterKind,
  newObject,
  platformControllersUser,
  schema,
  type WorkspaceType,
  workspaceTypeKind,
} from '@capstan/api';
import { apiResourceSchema } from '@capstan/api/hashes';
import { Client, connectionOf, isForbidden, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Product } from '../product.ts';
import { mill, newerMill, type PlatformSuite, patience, sailType, startPlatform, wind } from '../suite/platform.ts';
import { platformContent } from './controller.ts';
import type { ProductStates } from './reconcile.ts';

let suite: PlatformSuite;
let platform: Client;
beforeAll(async () => {
  suite = await startPlatform();
  platform = suite.client.cluster('root:platform');
}, 60_000);
afterAll(() => suite[Symbol.asyncDispose]());

const rbac = (resource: string): KindReference => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource,
  namespaced: false,
  kind: '',
});
const millIn = (name: string): KubeObject => newObject(mill, { metadata: { name, namespace: 'default' }, spec: {} });

/** Runs the installer until these products have these states. */
async function install(products: readonly Product[], wanted: Readonly<Record<string, string>>): Promise<ProductStates> {
  let latest: ProductStates = new Map();
  await using _running = suite.run(platformContent(products, { interval: 50, onStates: (states) => (latest = states) }));
  await vi.waitFor(() => expect(Object.fromEntries([...latest].map(([name, { state }]) => [name, state]))).toEqual(wanted), patience);
  return latest;
}

const installed = { wind: 'Installed' };

async function boundIn(workspace: Client): Promise<string[]> {
  const { items } = await workspace.resource<ApiBinding>(apiBindingKind).list();
  return items.filter(({ status }) => status?.phase === 'Bound').map(({ spec }) => spec!.reference!.export!.name);
}

async function bindingIn(workspace: Client): Promise<ApiBinding | undefined> {
  const { items } = await workspace.resource<ApiBinding>(apiBindingKind).list();
  return items.find(({ spec }) => spec?.reference?.export?.name === 'wind.capstan.dev');
}

const withoutTimes = (status: ApiBinding['status']): object => ({
  ...status,
  conditions: status?.conditions?.map(({ lastTransitionTime: _time, ...condition }) => condition),
});

async function snapshot(): Promise<string[]> {
  const kinds = [apiExportKind, apiResourceSchemaKind, apiBindingKind, rbac('clusterroles'), rbac('clusterrolebindings')];
  const lists = await Promise.all(kinds.map((kind) => platform.resource(kind).list()));
  const types = await suite.client.cluster('root').resource(workspaceTypeKind).list();
  return [...lists, types].flatMap(({ items }) =>
    items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`),
  );
}

describe('the content of products', () => {
  test('is installed, and bound by existing and by new projects', async () => {
    const early = await suite.project('early');
    await install([wind], installed);
    const late = await suite.project('late');
    expect(await boundIn(late)).toContain('wind.capstan.dev');
    await vi.waitFor(async () => expect(await boundIn(early)).toContain('wind.capstan.dev'), patience);
    await vi.waitFor(
      async () => expect(await early.resource(mill).in('default').create(millIn('a'))).toMatchObject({ spec: { sails: 4 } }),
      patience,
    );
  });

  test('is bound together with the creation of a workspace, exactly as the controller would do it', async () => {
    const [early, late] = await Promise.all(['early', 'late'].map((name) => bindingIn(suite.client.cluster(`root:main:${name}`))));
    // Nobody has written the binding since the server created it with the workspace.
    expect(late?.metadata.managedFields).toBeUndefined();
    expect(early?.metadata.managedFields).toBeDefined();
    expect(withoutTimes(late?.status)).toEqual(withoutTimes(early?.status));
    const workspace = await suite.client.cluster('root:main:late').resource<LogicalCluster>(logicalClusterKind).get('cluster');
    expect(isTrue(workspace.status?.conditions, 'APIBindingsReconciled')).toBe(true);
    expect(workspace.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['kube-apiserver']);
  });

  test('is not written again by a second installation', async () => {
    await install([wind], installed);
    const before = await snapshot();
    await install([wind], installed);
    expect(await snapshot()).toEqual(before);
  });

  test('has catalogs that the platform writes and tenants read', async () => {
    const late = suite.client.cluster('root:main:late');
    await platform.resource(sailType).create(newObject(sailType, { metadata: { name: 'jib' }, spec: { cloth: 'linen' } }));
    await vi.waitFor(async () => expect(await late.resource(sailType).get('jib')).toMatchObject({ spec: { cloth: 'linen' } }), patience);
    const refused = late.resource(sailType).create(newObject(sailType, { metadata: { name: 'mine' }, spec: { cloth: 'silk' } }));
    await expect(refused).rejects.toMatchObject({ code: 405 });
  });

  test('keeps tenants from writing the status of its kinds, and lets them do everything else', async () => {
    const connection = connectionOf(loadKubeconfig({ path: suite.server.kubeconfigPath }));
    using tenant = new Client({ ...connection, impersonate: { user: 'ann', groups: ['system:authenticated'] } });
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    const metadata = { name: 'ann' };
    await suite.client
      .cluster('root:main:late')
      .resource(rbac('clusterrolebindings'))
      .create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata, subjects, roleRef });
    const mills = tenant.cluster('root:main:late').resource(mill).in('default');
    const made = await vi.waitFor(() => mills.create(millIn('hers')), patience);
    await expect(mills.updateStatus({ ...made, status: { conditions: [] } })).rejects.toSatisfy(isForbidden);
    await mills.delete('hers');
  });

  test('is upgraded and rolled back by switching the export', async () => {
    const schemaOf = async (): Promise<string | undefined> =>
      (await platform.resource<ApiExport>(apiExportKind).get('wind.capstan.dev')).spec?.resources?.find(({ name }) => name === 'mills')
        ?.schema;
    const late = suite.client.cluster('root:main:late');
    const mills = late.resource(mill).in('default');
    const create = (name: string) => mills.create(millIn(name));
    await create('before');
    await install([{ ...wind, kinds: [newerMill, sailType] }], installed);
    expect(await schemaOf()).toBe(apiResourceSchema(newerMill).metadata.name);
    let count = 0;
    await vi.waitFor(async () => expect(await create(`new-${count++}`)).toMatchObject({ spec: { sails: 4, colour: 'white' } }), patience);
    // Objects that were stored before are served as the schema of today wants them, also to the product.
    expect(await mills.get('before')).toMatchObject({ spec: { sails: 4, colour: 'white' } });
    await install([wind], installed);
    expect(await schemaOf()).toBe(apiResourceSchema(mill).metadata.name);
    await vi.waitFor(async () => expect((await create(`old-${count++}`))['spec']).toEqual({ sails: 4 }), patience);
    const { items } = await mills.list();
    expect(items.map(({ spec }) => spec)).toEqual(items.map(() => ({ sails: 4 })));
  });

  test('leaves the schemas of one earlier release, and can be rolled back further', async () => {
    const newestMill = {
      ...newerMill,
      versions: { v1alpha1: { spec: schema.object('S.', { sails: schema.withDefault(schema.integer('Sails.'), 8) }) } },
    };
    const [first, second, third] = [mill, newerMill, newestMill].map((kind) => apiResourceSchema(kind).metadata.name);
    const schemas = async (): Promise<string[]> => {
      const { items } = await platform.resource(apiResourceSchemaKind).metadata().list();
      return items.map(({ metadata }) => metadata.name!).filter((name) => name.includes('.mills.'));
    };
    await install([{ ...wind, kinds: [newerMill, sailType] }], installed);
    expect(new Set(await schemas())).toEqual(new Set([first, second]));
    // An export of the owner.
    const resources = [{ group: 'wind.capstan.dev', name: 'mills', schema: first!, storage: { crd: {} } }];
    const spec = { resources };
    const exports = platform.resource<ApiExport>(apiExportKind);
    await exports.create({ apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIExport', metadata: { name: 'own' }, spec });
    await using running = suite.run(platformContent([{ ...wind, kinds: [newestMill, sailType] }], { interval: 50 }));
    const late = suite.client.cluster('root:main:late').resource(mill).in('default');
    let count = 0;
    await vi.waitFor(async () => expect(await late.create(millIn(`newest-${count++}`))).toMatchObject({ spec: { sails: 8 } }), patience);
    expect(new Set(await schemas())).toEqual(new Set([first, second, third]));
    await exports.delete('own');
    await vi.waitFor(async () => expect(new Set(await schemas())).toEqual(new Set([second, third])), patience);
    await running[Symbol.asyncDispose]();
    await install([wind], installed);
    await vi.waitFor(async () => expect((await late.create(millIn(`first-${count++}`)))['spec']).toEqual({ sails: 4 }), patience);
    expect(await schemas()).toContain(first);
  });

  test('is repaired if somebody changes it', async () => {
    await using _running = suite.run(platformContent([wind], { interval: 50 }));
    const role = 'capstan:product:wind:tenants';
    await platform.resource(rbac('clusterroles')).patch(role, { type: 'merge', patch: { rules: [] } });
    await vi.waitFor(async () => expect((await platform.resource(rbac('clusterroles')).get(role))['rules']).toHaveLength(3), patience);
  });
});

describe('a product that the server refuses', () => {
  const broken: Product = {
    name: 'broken',
    kinds: [{ ...mill, group: 'broken.capstan.dev', kind: 'not a kind' }],
    boundBy: ['project'],
    rules: [],
    controllers: [],
  };

  test('is reported by name and keeps no other', async () => {
    const states = await install([broken, wind], { broken: 'Failed', wind: 'Installed' });
    expect(states.get('broken')?.message).toContain('not a kind');
    expect(suite.log.filter((line) => line.includes('product broken is not installed')).length).toBe(1);
    const map = await platform
      .resource({ group: '', version: 'v1', resource: 'configmaps', namespaced: true })
      .in('capstan-products')
      .get('products');
    expect(map['data']).toMatchObject({ wind: 'Installed', broken: expect.stringMatching(/^Failed: .*not a kind/) });
    const type = await suite.client.cluster('root').resource<WorkspaceType>(workspaceTypeKind).get('project');
    expect(type.spec?.defaultAPIBindings).toEqual([{ path: 'root:platform', export: 'wind.capstan.dev' }]);
  });
});

describe('platform-controllers', () => {
  test('has rights in root:platform, and elsewhere only those of every user', async () => {
    const { installer } = suite;
    expect(await installer.cluster('root:platform').resource(apiExportKind).list()).toBeDefined();
    await expect(installer.cluster('root:main:late').resource(mill).list()).rejects.toSatisfy(isForbidden);
    await expect(installer.cluster('root').resource(apiExportKind).list()).rejects.toSatisfy(isForbidden);
    const types = installer.cluster('root').resource<WorkspaceType>(workspaceTypeKind);
    const universal = await types.get('universal');
    await expect(types.update({ ...universal, spec: { ...universal.spec, extend: {} } })).rejects.toSatisfy(isForbidden);
  });

  test('gets its rights in root:platform at the next start of the server if the workspace is older than they are', async () => {
    await platform.resource(rbac('clusterrolebindings')).delete(platformControllersUser);
    await suite.server.restart();
    const roles = await suite.server.call(
      `/clusters/root:platform/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${platformControllersUser}`,
    );
    expect(roles.json()['subjects']).toMatchObject([{ kind: 'User', name: platformControllersUser }]);
  });
});
