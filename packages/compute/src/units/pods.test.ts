import { join } from 'node:path';
import { unitLabel } from '@capstan/api';
import { Client, connectionOf, isNotFound, loadKubeconfig } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { fleet as wholeFleet } from '@capstan/fleet';
import { type KubeObject, unitPodLabel } from '@capstan/machinery';
import { type Cloud, startCloud } from '@capstan/platform/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { compute } from '../product.ts';
import { PretendFleet, TenantUnits } from './testing/pretend-fleet.ts';

const patiently = { timeout: 20_000, interval: 20 };
const core = (resource: string, namespaced = true) => ({ group: '', version: 'v1', resource, namespaced });
const podKind = core('pods');

let cloud: Cloud;
let fleet: PretendFleet;
let tenant: TenantUnits;
beforeAll(async () => {
  cloud = await startCloud({ products: [{ ...wholeFleet, controllers: [] }, compute], tenants: 1 });
  fleet = new PretendFleet(cloud.platform);
  tenant = new TenantUnits(cloud.tenants[0]!.client);
  await vi.waitFor(() => Promise.all([fleet.nodes().list(), fleet.nodeUnits().list()]), patiently);
  await fleet.makePool('pods');
  await tenant.create('shown', { offering: 'pods' });
  await vi.waitFor(() => pods().get('shown'), patiently);
}, 90_000);
afterAll(() => cloud[Symbol.asyncDispose]());

const pods = (client = tenant.client) => client.resource(podKind).in('default');
const containers = [{ name: 'main', image: 'x' }];
const pod = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels },
  spec: { containers },
});
const mirrors = {
  code: 403,
  message: expect.stringContaining('pod shown mirrors the GPU unit shown; change or delete the GPUUnit instead'),
};
const labelled = {
  code: 403,
  message: expect.stringContaining(`the label ${unitLabel} is for pods that mirror GPU units; create a GPUUnit instead`),
};

/** Even administrators of the platform are refused: the unit is what they mean. */
describe('a Pod that shows a unit', () => {
  test('has the label that quotas know', () => expect(unitPodLabel).toBe(unitLabel));

  test.each<[string, () => Promise<unknown>]>([
    ['deleted', () => pods().delete('shown')],
    ['deleted by force', () => pods().delete('shown', { gracePeriodSeconds: 0 })],
    ['deleted with others', () => pods().deleteCollection({ labelSelector: unitLabel })],
    ['annotated', () => pods().patch('shown', { type: 'merge', patch: { metadata: { annotations: { a: 'b' } } } })],
    [
      'released by removing its label',
      () => pods().patch('shown', { type: 'merge', patch: { metadata: { labels: { [unitLabel]: null } } } }),
    ],
    [
      'applied',
      () =>
        pods().apply(
          { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shown', namespace: 'default', labels: { a: 'b' } } },
          { fieldManager: 'x', force: true },
        ),
    ],
    ['reported on', () => pods().patch('shown', { type: 'merge', patch: { status: { phase: 'Failed' } } }, { subresource: 'status' })],
    [
      'reported on through its label',
      () =>
        pods().patch(
          'shown',
          { type: 'merge', patch: { metadata: { labels: { [unitLabel]: null } }, status: { phase: 'Failed' } } },
          { subresource: 'status' },
        ),
    ],
    [
      'given containers',
      () =>
        pods().patch(
          'shown',
          { type: 'strategic', patch: { spec: { ephemeralContainers: [{ name: 'd', image: 'x' }] } } },
          { subresource: 'ephemeralcontainers' },
        ),
    ],
    [
      'evicted',
      () =>
        pods().writeSubresource('shown', {
          subresource: 'eviction',
          method: 'POST',
          body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'shown', namespace: 'default' } },
        }),
    ],
    [
      'bound',
      () =>
        pods().writeSubresource('shown', {
          subresource: 'binding',
          method: 'POST',
          body: {
            apiVersion: 'v1',
            kind: 'Binding',
            metadata: { name: 'shown', namespace: 'default' },
            target: { kind: 'Node', name: 'n' },
          },
        }),
    ],
  ])('cannot be %s by people', async (_, change) => {
    await expect(change()).rejects.toMatchObject(mirrors);
    expect((await pods().get('shown')).metadata).toMatchObject({ labels: { [unitLabel]: 'shown' } });
  });

  test('cannot be forged, by creating it, by an update, or by a binding', async () => {
    await expect(pods().create(pod('forged', { [unitLabel]: 'forged' }))).rejects.toMatchObject(labelled);
    await pods().create(pod('own'));
    const patch = { metadata: { labels: { [unitLabel]: 'own' } } };
    await expect(pods().patch('own', { type: 'merge', patch })).rejects.toMatchObject(labelled);
    await expect(pods().patch('own', { type: 'merge', patch }, { subresource: 'status' })).rejects.toMatchObject(labelled);
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'own', namespace: 'default', labels: { [unitLabel]: 'own' } },
      target: { kind: 'Node', name: 'n' },
    };
    await expect(pods().writeSubresource('own', { subresource: 'binding', method: 'POST', body: binding })).rejects.toMatchObject(labelled);
    expect((await pods().get('own')).metadata.labels ?? {}).not.toHaveProperty(unitLabel);
    await pods().delete('own', { gracePeriodSeconds: 0 });
  });

  test('cannot be deleted by a tenant that calls itself the garbage collector', async () => {
    const connection = connectionOf(loadKubeconfig({ path: cloud.server.kubeconfigPath }));
    const impersonate = { user: 'system:serviceaccount:kube-system:generic-garbage-collector', groups: ['system:masters'] };
    using forger = new Client({ ...connection, impersonate });
    await expect(pods(forger.cluster(cloud.tenants[0]!.path)).delete('shown')).rejects.toMatchObject(mirrors);
  });

  test('comes back when the garbage collector has deleted it while its unit lives', async () => {
    const connection = connectionOf(loadKubeconfig({ path: join(cloud.server.directory, 'controller-manager.kubeconfig') }));
    using collector = new Client({ ...connection, impersonate: { user: 'system:serviceaccount:kube-system:generic-garbage-collector' } });
    const { uid } = (await pods().get('shown')).metadata;
    await pods(collector.cluster(cloud.tenants[0]!.path)).delete('shown');
    await vi.waitFor(async () => {
      const again = await ignoring(pods().get('shown'), isNotFound);
      expect(again?.metadata.uid).toBeDefined();
      expect(again?.metadata.uid).not.toBe(uid);
    }, patiently);
  });

  test('needs no room in quotas, and follows no rules for pods that a kubelet runs', async () => {
    const here = tenant.client;
    await here
      .resource(core('namespaces', false))
      .patch('default', { type: 'merge', patch: { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } } });
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none', namespace: 'default' },
      spec: { hard: { pods: '0', 'requests.cpu': '0', 'count/pods': '0' } },
    };
    await here.resource(core('resourcequotas')).create(quota);
    await expect(pods().create(pod('refused'))).rejects.toMatchObject({ code: 403 });
    await tenant.create('free', { offering: 'pods' });
    const shown = await vi.waitFor(() => pods().get('free'), patiently);
    expect(shown['spec']).not.toHaveProperty('serviceAccountName');
  });

  test('stays away if a Pod of the tenant has its name, which the unit survives', async () => {
    await tenant.client.resource(core('resourcequotas')).in('default').delete('none');
    await tenant.client
      .resource(core('namespaces', false))
      .patch('default', { type: 'merge', patch: { metadata: { labels: { 'pod-security.kubernetes.io/enforce': null } } } });
    await pods().create(pod('taken'));
    const unit = await tenant.create('taken', { offering: 'pods' });
    const events = tenant.client.resource(core('events')).in('default');
    await vi.waitFor(
      async () =>
        expect((await events.list()).items).toContainEqual(
          expect.objectContaining({ reason: 'NoPod', involvedObject: expect.objectContaining({ name: 'taken' }) }),
        ),
      patiently,
    );
    expect(await fleet.of(unit)).toHaveLength(1);
    expect((await pods().get('taken')).metadata.labels ?? {}).not.toHaveProperty(unitLabel);
  });
});
