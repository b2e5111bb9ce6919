import { duplexPair } from 'node:stream';
import { type AnsweringTunnel, answerTunnel, openTunnel, type Tunnel } from '@capstan/streams';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppsOfTenants, appsIn, group } from '../app-access/testing/apps.ts';
import { recordedStreams } from '../audit/testing.ts';
import { callAs, createPlatform, enrolled, fleetPath } from '../node-agents/testing/fleet.ts';
import { type Reply, startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
let apps: AppsOfTenants;
let tunnel: Tunnel;
let answering: AnsweringTunnel;
/** Whether the node n1 has a tunnel, and knows its tasks. */
let [isConnected, knowsTasks] = [false, true];
const tasks = `${fleetPath}/namespaces/node-n1/nodetasks`;
const operations = (cluster: string): string => `${appsIn(cluster)}/appoperations`;

/** An operation of three steps: two have run on the node n1, and the output of one is a secret. */
async function createOperation(cluster: string): Promise<void> {
  const body = {
    apiVersion: `${group}/v1alpha1`,
    kind: 'AppOperation',
    metadata: { name: 'o' },
    spec: { instance: 'k8s', type: 'deploy' },
  };
  const made = await apps.write(operations(cluster), body);
  const step = (id: string, more: object) => ({ id, title: id, stage: 1, state: 'succeeded', task: 'app-one-1', member: 'gone', ...more });
  const steps = [step('one', { node: 'n1' }), step('token', {}), step('new', { node: 'n1', task: 'app-two-1' })];
  await apps.write(`${operations(cluster)}/o/status`, { ...made, status: { state: 'succeeded', steps } }, 'PUT');
}

beforeAll(async () => {
  const [near, far] = duplexPair();
  const answers = answerTunnel(far, {
    handle: (request) => {
      if (!knowsTasks) return void request.respond(404).end('{"message":"this node has no output of the task"}');
      request.respond(200, { 'content-type': 'text/plain' }).end(request.path);
    },
  });
  [tunnel, answering] = await Promise.all([openTunnel(near), answers]);
  server = await startTestServer({ tunnels: { to: (node) => (node === 'n1' && isConnected ? tunnel : undefined) } });
  await createPlatform(server);
  apps = new AppsOfTenants(server);
  await apps.createTenants();
  const agent = await enrolled(server, 'n1');
  const spec = { type: 'gpu.inspect', gpuInspect: {} };
  const task = { apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'NodeTask', metadata: { name: 'app-one-1' }, spec };
  const { uid } = (await apps.write(tasks, task)).metadata;
  await callAs(server, agent, `/capstan/logs/tasks/app-one-1/${uid}/1?offset=0`, { method: 'PUT', body: { a: 1 } });
  await server.call(`${tasks}/app-one-1`, { method: 'DELETE' });
  for (const cluster of ['tenant1', 'tenant2']) await createOperation(cluster);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  tunnel.destroy();
  answering.destroy();
});

const log = (query: string, cluster = 'tenant1', method = 'GET'): Promise<Reply> =>
  server.call(`${operations(cluster)}/o/log${query}`, { method });

describe('the output of a step', () => {
  test('is read by the tenant, though the task is deleted, its member gone and its node away', async () => {
    expect(await log('?step=one')).toMatchObject({ code: 200, text: '{"a":1}' });
    expect((await log('?step=one&tailLines=0')).text).toBe('');
    expect(await recordedStreams(server, 'tenant1', `appoperations.${group}/log`)).toContain('get by kubernetes-admin');
  });

  test.each([
    ['?step=token', 404],
    ['?step=new', 404],
    ['?step=other', 400],
    ['', 400],
    ['?step=one&tailLines=x', 400],
  ])('is not found at %s', async (query, code) => {
    expect((await log(query)).code).toBe(code);
  });

  test('is not served for kinds that a tenant has defined, nor written', async () => {
    expect((await log('?step=one', 'tenant2')).code).toBe(404);
    expect((await log('?step=one', 'tenant1', 'POST')).code).toBeGreaterThanOrEqual(400);
  });
});

describe('the output of a step that runs', () => {
  let uid: string;
  beforeAll(async () => {
    const task = {
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'NodeTask',
      metadata: { name: 'app-two-1' },
      spec: { type: 'gpu.inspect', gpuInspect: {} },
    };
    uid = (await apps.write(tasks, task)).metadata.uid!;
    isConnected = true;
  });

  test('is followed on its node', async () => {
    const path = `/node/tasks/${uid}/1/log?follow=true`;
    expect(await log('?step=new&follow=true')).toMatchObject({ code: 200, text: path });
    expect((await log('?step=new&follow=true&tailLines=5')).text).toBe(`${path}&tailLines=5`);
  });

  test('is what the node has sent, when its task, its tunnel or its memory of the task is gone', async () => {
    expect((await log('?step=one&follow=true')).text).toBe('{"a":1}');
    knowsTasks = false;
    expect((await log('?step=new&follow=true')).code).toBe(404);
    isConnected = false;
    expect((await log('?step=new&follow=true')).code).toBe(404);
  });
});
