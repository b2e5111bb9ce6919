import {
  type GPUNode,
  gpuNodeKind,
  type NodeUnit,
  newObject,
  nodeNamespace,
  nodeUnitKind,
  type Offering,
  offeringKind,
  restPath,
} from '@capstan/api';
import { Client, connectionOf, fixedCredentials, loadKubeconfig } from '@capstan/client';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RuntimeApi, startRuntimeApi } from '../process/runtime-api.ts';
import { type Rest, startRest } from '../suite/rest.ts';

const patiently = { timeout: 15_000, interval: 20 };
const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const namespaces = { group: '', version: 'v1', resource: 'namespaces', namespaced: false };

let rest: Rest;
let jobToken: string;
beforeAll(async () => {
  rest = await startRest();
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  jobToken = await vi.waitFor(async () => {
    const own = rest.cloud.platform.resource(accounts).in('capstan-products');
    const made = await own.writeSubresource<KubeObject>('operator', { subresource: 'token', method: 'POST', body: request });
    return (made as unknown as { readonly status: { readonly token: string } }).status.token;
  }, patiently);
  await makeNode('n1', 4);
  for (const name of ['small', 'large', 'late']) {
    const spec = { gpu: { count: 1 }, cpu: '1', memory: '1Gi' };
    await rest.cloud.platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name }, spec }) as Offering);
  }
}, 90_000);
afterAll(() => rest[Symbol.asyncDispose]());

async function makeNode(name: string, gpus: number): Promise<void> {
  const nodes = rest.cloud.platform.resource<GPUNode>(gpuNodeKind);
  await vi.waitFor(() => nodes.create(newObject(gpuNodeKind, { metadata: { name }, spec: {} })), patiently);
  await rest.cloud.platform.resource(namespaces).create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: nodeNamespace(name) } });
  const at = '2026-01-01T00:00:00Z';
  const health = { state: 'Healthy', reason: 'Healthy', message: '', since: at };
  const status = {
    machine: { hostname: name, cpus: 64, memoryBytes: 2 ** 40, os: '', kernel: '', architecture: 'amd64', agentVersion: '' },
    gpus: Array.from({ length: gpus }, (_, index) => ({ uuid: `${name}-${index}`, model: 'H100', memoryBytes: 2 ** 36, health })),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Heartbeat', message: '', lastTransitionTime: at }],
  };
  await nodes.patch(name, { type: 'merge', patch: { status } as unknown as JsonObject }, { subresource: 'status' });
}

const connection = () => connectionOf(loadKubeconfig({ path: rest.cloud.server.kubeconfigPath }));
/** A replica that works on jobs, and says little about its end. */
const replica = (leaseFor = 300): Promise<RuntimeApi> =>
  startRuntimeApi({
    connection: connection(),
    host: '127.0.0.1',
    port: 0,
    healthAt: { host: '127.0.0.1', port: 0 },
    log: () => {},
    jobs: { credentials: fixedCredentials({ authorization: `Bearer ${jobToken}` }), every: 20, leaseFor },
  });
const owner = () => ({ token: rest.ownerToken });
const queue = async (offering: string, count: number): Promise<string> => {
  const answer = await rest.ask(`${restPath}/operator/stock-units`, { method: 'POST', body: { offering, count }, ...owner() });
  expect(answer.status).toBe(202);
  return answer.body['id'] as string;
};
const jobIs = (id: string, status: object): Promise<JsonObject> =>
  vi.waitFor(async () => {
    const { body } = await rest.ask(`${restPath}/operator/jobs/${id}`, owner());
    expect(body['status']).toMatchObject(status);
    return body['status'] as JsonObject;
  }, patiently);
const nodeUnits = () => rest.cloud.platform.resource<NodeUnit>(nodeUnitKind);
/** The agents are done with everything that they were asked to prepare. */
const prepareAll = async (count: number): Promise<void> => {
  const asked = await vi.waitFor(async () => {
    const { items } = await nodeUnits().list();
    expect(items).toHaveLength(count);
    return items;
  }, patiently);
  for (const { metadata, spec } of asked) {
    expect(spec.warm).toBe(true);
    expect(spec.devices).toHaveLength(1);
    const { name = '', namespace } = metadata;
    await nodeUnits().patch({ name, namespace }, { type: 'merge', patch: { status: { phase: 'Warm' } } }, { subresource: 'status' });
  }
};

describe('a job for stock', () => {
  test('goes on in another replica when the one that worked on it ends', async () => {
    const first = await replica();
    const id = await queue('small', 2);
    const { holder } = await jobIs(id, { phase: 'Running', ready: 0, total: 2, message: '0 of 2 are ready; 2 are being prepared' });
    await first[Symbol.asyncDispose]();
    await using _second = await replica();
    await prepareAll(2);
    const status = await jobIs(id, { phase: 'Succeeded', ready: 2, message: '2 of 2 are ready' });
    expect(status['holder']).not.toBe(holder);
    expect((await rest.cloud.platform.resource<Offering>(offeringKind).get('small')).spec.stock).toEqual({ units: 2 });
  });

  test('is held by one of several replicas at a time', async () => {
    // On a busy machine, a replica may be slow for a while.
    await using _first = await replica(60_000);
    await using _second = await replica(60_000);
    const id = await queue('late', 1);
    const { holder } = await jobIs(id, { phase: 'Running', message: '0 of 1 are ready; 1 is being prepared' });
    await prepareAll(3);
    expect(await jobIs(id, { phase: 'Succeeded' })).toMatchObject({ holder });
  });

  test('says why it waits, and can be cancelled', async () => {
    await using _replica = await replica();
    const id = await queue('large', 7);
    await jobIs(id, { phase: 'Running', message: '0 of 7 are ready; 6 wait for free devices; 1 is being prepared' });
    await prepareAll(4);
    await jobIs(id, { phase: 'Running', ready: 1, message: '1 of 7 are ready; 6 wait for free devices' });
    expect((await rest.ask(`${restPath}/operator/jobs/${id}/cancel`, { method: 'POST', ...owner() })).status).toBe(200);
    await jobIs(id, { phase: 'Cancelled' });
  });

  test('fails without its offering', async () => {
    await using _replica = await replica();
    await jobIs(await queue('nothing', 1), { phase: 'Failed', message: 'there is no offering nothing' });
  });

  test('is only for the owner, and needs both fields', async () => {
    const path = `${restPath}/operator/stock-units`;
    expect((await rest.ask(path, { method: 'POST', body: { offering: 'small', count: 1 } })).body['code']).toBe('forbidden');
    expect((await rest.ask(path, { method: 'POST', body: { offering: 'small' }, ...owner() })).status).toBe(422);
    expect((await rest.ask(path, { method: 'POST', body: { offering: 'small', number: 1 }, ...owner() })).status).toBe(400);
  });

  test('is done with an account that can do nothing else', async () => {
    const { server, ca = '' } = connection();
    using account = new Client({
      server: new URL(server).origin,
      ca,
      credentials: fixedCredentials({ authorization: `Bearer ${jobToken}` }),
      namespace: 'default',
    });
    const platform = account.cluster('root:platform');
    await platform.resource<Offering>(offeringKind).get('small');
    await expect(platform.resource(offeringKind).delete('small')).rejects.toMatchObject({ code: 403 });
    await expect(platform.resource(gpuNodeKind).list()).rejects.toMatchObject({ code: 403 });
    await expect(platform.resource(nodeUnitKind).in('node-n1').delete('any')).rejects.toMatchObject({ code: 403 });
    await expect(platform.resource({ group: '', version: 'v1', resource: 'secrets', namespaced: true }).list()).rejects.toMatchObject({
      code: 403,
    });
  });
});
