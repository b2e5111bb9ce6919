import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createOrUpdate } from './create-or-update.ts';
import { finalize } from './finalizers.ts';
import { originOf, originsOf, withOrigin, withRequester } from './origins.ts';
import { withController } from './owners.ts';
import { patchStatus } from './status.ts';

const configMaps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const quotas = { group: '', version: 'v1', resource: 'resourcequotas', namespaced: true };

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

let server: TestServer;
let client: Client;

beforeAll(async () => {
  server = await startTestServer();
  client = new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath })));
});
afterAll(async () => {
  client[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

const map = (name: string, more: Partial<ConfigMap> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  ...more,
});

test('patchStatus writes differences, removes fields that are gone, and writes nothing if nothing changed', async () => {
  const resource = client.resource<KubeObject & { status?: object }>(quotas).in('default');
  const quota = await resource.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q', namespace: 'default' } });
  const full = { hard: { pods: '5', secrets: '1' }, used: { pods: '1' } };
  const first = await patchStatus(resource, quota, full);
  expect(first.status).toEqual(full);
  expect(await patchStatus(resource, first, structuredClone(full))).toBe(first);
  const second = await patchStatus(resource, first, { hard: { pods: '6' } });
  expect(second.status).toEqual({ hard: { pods: '6' } });
  await expect(patchStatus(resource, second, { ...second.status, fresh: { field: 1 } })).rejects.toThrow(
    'the server dropped status.fresh of resourcequotas "q": its schema does not have the field, or not yet',
  );
});

describe('createOrUpdate', () => {
  const change = (data: Record<string, string>) => (existing: ConfigMap | undefined) => ({ ...(existing ?? map('it')), data });

  test('creates, updates, and does nothing if nothing changed', async () => {
    const resource = client.resource<ConfigMap>(configMaps).in('default');
    const created = await createOrUpdate(resource, { name: 'it', change: change({ a: '1' }) });
    expect(created.result).toBe('created');
    expect((await createOrUpdate(resource, { name: 'it', change: change({ a: '1' }) })).result).toBe('unchanged');
    const updated = await createOrUpdate(resource, { name: 'it', change: change({ a: '2' }) });
    expect([updated.result, updated.object.data]).toEqual(['updated', { a: '2' }]);
    // A copy that is behind.
    await expect(createOrUpdate(resource, { name: 'it', copy: created.object, change: change({ a: '3' }) })).rejects.toMatchObject({
      code: 409,
    });
  });

  test('updates an object that appeared after it was looked for', async () => {
    const resource = client.resource<ConfigMap>(configMaps).in('default');
    vi.spyOn(resource, 'get').mockRejectedValueOnce(await resource.get('nothing').catch((error: unknown) => error));
    expect((await createOrUpdate(resource, { name: 'it', change: change({ a: '4' }) })).result).toBe('updated');
  });
});

describe('finalize', () => {
  test('adds the finalizer before anything else, and removes it once the clean-up has succeeded', async () => {
    const resource = client.resource<ConfigMap>(configMaps).in('default');
    const made = await resource.create(map('kept'));
    const cleanUp = vi.fn<() => Promise<boolean>>().mockResolvedValueOnce(false).mockResolvedValue(true);
    const options = { finalizer: 'example.com/it', cleanUp };
    const active = await finalize(resource, made, options);
    expect([active.state, active.object.metadata.finalizers]).toEqual(['active', ['example.com/it']]);
    await resource.delete('kept');
    const deleting = await resource.get('kept');
    expect((await finalize(resource, deleting, options)).object.metadata.finalizers).toEqual(['example.com/it']);
    await finalize(resource, deleting, options);
    await expect(resource.get('kept')).rejects.toMatchObject({ code: 404 });
    expect(cleanUp).toHaveBeenCalledTimes(2);
  });
});

describe('objects in other workspaces', () => {
  const there = map('origin', { metadata: { name: 'origin', namespace: 'default', uid: 'u', annotations: { 'kcp.io/cluster': 'abc' } } });

  test('name the object for which they were made', () => {
    const made = withOrigin(map('made'), there);
    expect(originOf(made)).toEqual({ cluster: 'abc', namespace: 'default', name: 'origin' });
    expect(originsOf(map('alone'))).toEqual([]);
    expect(() => withOrigin(map('made'), map('here'))).toThrow('expected an origin from an endpoint over many workspaces');
  });

  test('name the user who asked for the one that they were made for', () => {
    const wish = map('wish', {
      metadata: { name: 'wish', annotations: { 'capstan.dev/requested-by': 'jane', 'capstan.dev/created-by': 'joe' } },
    });
    const made = withRequester(withOrigin(map('made'), there), wish);
    expect(made.metadata.annotations).toEqual({ 'capstan.dev/origin': expect.any(String), 'capstan.dev/requested-by': 'jane' });
    expect(withRequester(map('made'), there)).toEqual(map('made'));
  });

  test('cannot be owned', () => {
    const elsewhere = map('made', { metadata: { name: 'made', namespace: 'default', annotations: { 'kcp.io/cluster': 'other' } } });
    expect(() => withController(elsewhere, there)).toThrow('use withOrigin and finalize');
    expect(withController(map('made'), there).metadata.ownerReferences).toHaveLength(1);
  });
});
