import { type ApiBinding, apiBindingKind, apiExportKind, apiResourceSchemaKind } from '@capstan/api';
import type { Client } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type PlatformSuite, patience, startPlatform } from './suite/platform.ts';

let suite: PlatformSuite;
let project: Client;
beforeAll(async () => {
  suite = await startPlatform();
  project = await suite.project('apps');
}, 60_000);
afterAll(() => suite[Symbol.asyncDispose]());

const core = (resource: string, namespaced = true) => ({ group: '', version: 'v1', resource, namespaced });
const pods = core('pods');
const object = (kind: string, metadata: KubeObject['metadata'], more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata,
  ...more,
});
const pod = (name: string, metadata: KubeObject['metadata'] = {}): KubeObject =>
  object('Pod', { name, ...metadata }, { spec: { containers: [{ name: 'c', image: 'i' }] } });
const names = async (namespace: string): Promise<string[]> =>
  (await project.resource(pods).in(namespace).list()).items.map(({ metadata }) => metadata.name!);

describe('pods of a project', () => {
  test('are counted by quotas', async () => {
    const quotas = project.resource(core('resourcequotas')).in('default');
    await quotas.create(object('ResourceQuota', { name: 'q', namespace: 'default' }, { spec: { hard: { pods: '1' } } }));
    await vi.waitFor(async () => expect((await quotas.get('q'))['status']).toMatchObject({ used: { pods: '0' } }), patience);
    await project.resource(pods).in('default').create(pod('one'));
    await vi.waitFor(async () => expect((await quotas.get('q'))['status']).toMatchObject({ used: { pods: '1' } }), patience);
    await expect(project.resource(pods).in('default').create(pod('two'))).rejects.toMatchObject({ code: 403 });
  });

  test('are collected with their owner', async () => {
    await project.resource(core('namespaces', false)).create(object('Namespace', { name: 'owned' }));
    const maps = project.resource(core('configmaps')).in('owned');
    const { metadata } = await maps.create(object('ConfigMap', { name: 'owner', namespace: 'owned' }));
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: metadata.uid! }];
    await project.resource(pods).in('owned').create(pod('mine', { ownerReferences }));
    await maps.delete('owner');
    await vi.waitFor(async () => expect(await names('owned')).toEqual([]), patience);
  });

  test('are deleted with their namespace and their workspace', async () => {
    const namespaces = project.resource(core('namespaces', false));
    await namespaces.create(object('Namespace', { name: 'doomed' }));
    await vi.waitFor(() => project.resource(pods).in('doomed').create(pod('p')), patience);
    await namespaces.delete('doomed');
    await vi.waitFor(async () => {
      await expect(namespaces.get('doomed')).rejects.toMatchObject({ code: 404 });
      expect(await names('doomed')).toEqual([]);
    }, patience);
    const other = await suite.project('doomed');
    await other.resource(pods).in('default').create(pod('p'));
    const workspaces = suite.client
      .cluster('root:main')
      .resource({ group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces', namespaced: false });
    await workspaces.delete('doomed');
    await vi.waitFor(async () => {
      await expect(workspaces.get('doomed')).rejects.toMatchObject({ code: 404 });
      const { items } = await suite.client.cluster('*').resource(pods).list();
      expect(items.map(({ metadata }) => metadata.name)).toEqual(['one']);
    }, patience);
  });

  test('cannot be bound from a provider too', async () => {
    const platform = suite.client.cluster('root:platform');
    const schema = { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } };
    await platform.resource(apiResourceSchemaKind).create({
      apiVersion: 'apis.kcp.io/v1alpha1',
      kind: 'APIResourceSchema',
      metadata: { name: 'other.pods.core' },
      spec: {
        group: '',
        names: { plural: 'pods', singular: 'pod', kind: 'Pod', listKind: 'PodList' },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await platform.resource(apiExportKind).create({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: 'pods' },
      spec: { resources: [{ group: '', name: 'pods', schema: 'other.pods.core', storage: { crd: {} } }] },
    });
    const bindings = project.resource<ApiBinding>(apiBindingKind);
    const spec = { reference: { export: { path: 'root:platform', name: 'pods' } } };
    await bindings.create({ apiVersion: 'apis.kcp.io/v1alpha2', kind: 'APIBinding', metadata: { name: 'pods' }, spec });
    await vi.waitFor(async () => {
      const { status } = await bindings.get('pods');
      expect(status?.conditions?.find(({ type }) => type === 'BindingUpToDate')?.message).toContain('map[pods.:{kubernetes false}]');
    }, patience);
  });
});
