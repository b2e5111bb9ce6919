import { type App, appInstanceKind, appKind, appMemberKind, type NodeScript, newObject, nodeScriptKind } from '@capstan/api';
import { Client, connectionOf, fixedCredentials, isForbidden, loadKubeconfig } from '@capstan/client';
import { computeProduct } from '@capstan/compute';
import { fleetProduct } from '@capstan/fleet';
import type { KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { AdapterRegistration } from './adapter/registration.ts';
import { script } from './adapter/scripts.ts';
import { appsProduct } from './product.ts';
import { pair } from './testing/pair.ts';

const patience = { timeout: 20_000, interval: 20 };
let cloud: Cloud;
const products = (adapters: readonly AdapterRegistration[]) => [fleetProduct(), computeProduct(), appsProduct({ adapters })];

beforeAll(async () => {
  cloud = await startCloud({ products: products([pair]) });
}, 60_000);
afterAll(() => cloud?.[Symbol.asyncDispose]());

describe('the product', () => {
  test('installs the apps and scripts of its adapters, and tenants read the apps', async () => {
    const [tenant] = cloud.tenants;
    const seen = await vi.waitFor(() => tenant!.client.resource<App>(appKind).get('pair'), patience);
    expect(seen.spec.displayName).toBe('A pair');
    const stored = await cloud.platform.resource<NodeScript>(nodeScriptKind).get('pair-hello');
    expect(stored.spec).toEqual({ description: 'Says hello.', content: '#!/bin/sh\n# Says hello.\necho hello\n' });
  });

  test('renews them with the program, and keeps what the owner has changed', async () => {
    const apps = cloud.platform.resource<App>(appKind);
    await apps.patch('pair', { type: 'merge', patch: { spec: { displayName: 'Two of them' } } });
    const newer: AdapterRegistration = {
      ...pair,
      apps: () => pair.apps().map((app) => ({ ...app, spec: { ...app.spec, displayName: 'Better', description: 'New.' } })),
      scripts: () => [script('pair-hello', '#!/bin/sh\necho good day\n')],
    };
    await cloud.replaceProducts(products([newer]));
    await vi.waitFor(async () => expect((await apps.get('pair')).spec.description).toBe('New.'), patience);
    expect((await apps.get('pair')).spec.displayName).toBe('Two of them');
    await vi.waitFor(async () => {
      expect((await cloud.platform.resource<NodeScript>(nodeScriptKind).get('pair-hello')).spec.content).toContain('good day');
    }, patience);
  });

  test('writes Secrets only in its own namespace and, for tasks, in those of nodes', async () => {
    const connection = connectionOf(loadKubeconfig({ path: cloud.server.kubeconfigPath }));
    const accounts = cloud.platform
      .resource({ group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true })
      .in('capstan-products');
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec: {} };
    const made = await vi.waitFor(
      () => accounts.writeSubresource<KubeObject>('apps', { subresource: 'token', method: 'POST', body: request }),
      patience,
    );
    const { token } = made['status'] as { readonly token: string };
    using own = new Client({ ...connection, credentials: fixedCredentials({ authorization: `Bearer ${token}` }) });
    const platform = own.cluster('root:platform');
    const kind = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
    const namespaces = cloud.platform.resource({ group: '', version: 'v1', resource: 'namespaces', namespaced: false });
    for (const name of ['node-x', 'other']) await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const create = (namespace: string, name: string, labels = {}): Promise<KubeObject> =>
      platform.resource(kind).in(namespace).create({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace, labels } });
    const forTasks = { 'fleet.capstan.dev/task-secret': 'true' };
    await create('apps', 'any');
    await create('node-x', 'task', forTasks);
    await platform.resource(kind).in('node-x').delete('task');
    await expect(create('node-x', 'any')).rejects.toSatisfy(isForbidden);
    await expect(create('other', 'task', forTasks)).rejects.toSatisfy(isForbidden);
    await expect(create('capstan-products', 'task', forTasks)).rejects.toSatisfy(isForbidden);
    for (const namespace of ['node-x', 'other']) {
      const metadata = { name: 'theirs', namespace };
      await cloud.platform.resource(kind).in(namespace).create({ apiVersion: 'v1', kind: 'Secret', metadata });
      await expect(platform.resource(kind).in(namespace).delete('theirs')).rejects.toSatisfy(isForbidden);
    }
  });

  test('lets nobody but the platform write members', async () => {
    const [tenant] = cloud.tenants;
    const spec = { instance: 'a', component: 'leader', allocation: 'b', node: 'n' };
    const member = newObject(appMemberKind, { metadata: { name: 'm', namespace: 'default' }, spec });
    const { kubeconfigPath } = cloud.server;
    using ann = new Client({
      ...connectionOf(loadKubeconfig({ path: kubeconfigPath })),
      impersonate: { user: 'ann', groups: ['system:authenticated'] },
    });
    const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'ann' }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    await tenant!.client
      .resource({ group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', namespaced: false })
      .create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: 'ann' }, subjects, roleRef });
    const own = ann.cluster(tenant!.path);
    await expect(own.resource(appMemberKind).in('default').create(member)).rejects.toSatisfy(isForbidden);
    const instance = newObject(appInstanceKind, { metadata: { name: 'i', namespace: 'default' }, spec: { app: 'pair', placement: {} } });
    const instances = own.resource(appInstanceKind).in('default');
    const made = await instances.create(instance);
    await expect(instances.updateStatus({ ...made, status: { health: 'healthy' } })).rejects.toSatisfy(isForbidden);
  });
});
