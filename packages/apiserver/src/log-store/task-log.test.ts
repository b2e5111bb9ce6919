import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { recordedStreams } from '../audit/testing.ts';
import { type Agent, callAs, createPlatform, enrolled, fleetPath } from '../node-agents/testing/fleet.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';

/** Agents that send the output of tasks, and have no tunnel. */
let server: TestServer;
let own: Agent;
beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  own = await enrolled(server, 'own');
  await enrolled(server, 'other');
});
afterAll(() => server[Symbol.asyncDispose]());

const tasksOf = (node: string): string => `${fleetPath}/namespaces/node-${node}/nodetasks`;

/** Creates a task and returns its uid. */
async function makeTask(name: string, node = 'own'): Promise<string> {
  const body = {
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind: 'NodeTask',
    metadata: { name },
    spec: { type: 'gpu.inspect', gpuInspect: {} },
  };
  const reply = await server.call(tasksOf(node), { method: 'POST', body });
  if (reply.code !== 201) throw new Error(reply.text);
  return (reply.json() as { metadata: { uid: string } }).metadata.uid;
}

async function deleteTask(name: string): Promise<void> {
  await server.call(`${tasksOf('own')}/${name}`, { method: 'DELETE' });
  await vi.waitFor(async () => expect((await server.call(`${tasksOf('own')}/${name}`)).code).toBe(404), { timeout: 10_000 });
}

const put = (path: string, body: object) => callAs(server, own, `/capstan/logs/tasks/${path}`, { method: 'PUT', body });
const log = (name: string, query = '', node = 'own') => server.call(`${tasksOf(node)}/${name}/log${query}`);

describe('the output of a task', () => {
  test('is what its node has sent, while the node is away', async () => {
    const uid = await makeTask('hello');
    expect((await log('hello')).code).toBe(503);
    expect((await put(`hello/${uid}/1?offset=0`, { a: 1 })).text).toBe('{"size":7}');
    expect((await put(`hello/${uid}/1?offset=0`, { a: 1 })).text).toBe('{"size":7}');
    expect((await put(`hello/${uid}/1?offset=7`, { b: 2 })).text).toBe('{"size":14}');
    expect(await log('hello')).toMatchObject({ code: 200, text: '{"a":1}{"b":2}' });
    expect((await log('hello', '?tailBytes=7')).text).toBe('{"b":2}');
    expect(await recordedStreams(server, 'root:platform', 'nodetasks.fleet.capstan.dev/log')).toContain('get by kubernetes-admin');
    expect((await log('hello', '?tailLines=x')).code).toBe(400);
    expect((await log('hello', '?attempt=2')).code).toBe(503);
  });

  test('says how much is still on the node', async () => {
    const uid = await makeTask('cut');
    await put(`cut/${uid}/1?offset=0`, { a: 1 });
    const headers = { 'content-type': 'application/merge-patch+json' };
    const status = { phase: 'Succeeded', attempt: 1, output: { bytes: 20, truncated: false } };
    expect((await server.call(`${tasksOf('own')}/cut/status`, { method: 'PATCH', headers, body: { status } })).code).toBe(200);
    expect((await log('cut')).text).toBe('{"a":1}\n[the node has not sent the last 13 bytes of the output]\n');
    // A program that uses the output as a value can do nothing with a part of it.
    expect((await log('cut', '?whole=true')).code).toBe(503);
    await put(`cut/${uid}/1?offset=7`, { b: 'whole' });
    expect(await log('cut', '?whole=true')).toMatchObject({ code: 200, text: '{"a":1}{"b":"whole"}' });
  });

  test('is that of the last attempt, or of the one that was asked for', async () => {
    const uid = await makeTask('again');
    await put(`again/${uid}/1?offset=0`, { first: true });
    await put(`again/${uid}/2?offset=0`, { second: true });
    await deleteTask('again');
    expect((await log('again')).text).toBe('{"second":true}');
    expect((await log('again', '?attempt=1')).text).toBe('{"first":true}');
  });

  test('outlives the task, and belongs to the task of its uid', async () => {
    const former = await makeTask('twice');
    await put(`twice/${former}/1?offset=0`, { former: true });
    await deleteTask('twice');
    expect((await put(`twice/${former}/1?offset=15`, { late: 1 })).code).toBe(200);
    expect((await log('twice')).text).toBe('{"former":true}{"late":1}');
    const next = await makeTask('twice');
    expect((await log('twice')).code).toBe(503);
    await put(`twice/${next}/1?offset=0`, { next: true });
    expect((await log('twice')).text).toBe('{"next":true}');
    await deleteTask('twice');
    expect((await log('twice')).text).toBe('{"next":true}');
    expect((await put(`twice/${former}/1?offset=25`, { stale: 1 })).code).toBe(404);
  });

  test('is unknown for tasks that never were, and nowhere but in the workspace of the platform', async () => {
    expect((await log('nobody')).code).toBe(404);
    expect((await log('again', '', 'other')).code).toBe(404);
    expect((await server.call(`${tasksOf('own')}/again/log`, { method: 'POST', body: {} })).code).toBe(405);
    const elsewhere = tasksOf('own').replace('root:platform', 'root');
    expect((await server.call(`${elsewhere}/again/log`)).code).toBe(404);
    expect((await server.call(`${tasksOf('own')}/again/log`, { anonymous: true })).code).toBe(403);
  });

  test.each([
    ['a task of another node', async () => `theirs/${await makeTask('theirs', 'other')}/1?offset=0`, 404],
    ['a task that does not exist', async () => 'nobody/uid/1?offset=0', 404],
    ['another uid', async () => `hello/uid/1?offset=0`, 404],
    ['no uid', async () => 'hello/1?offset=0', 400],
    ['a path', async () => '..%2f..%2fetc/uid/1?offset=0', 400],
    ['an attempt that is no number', async () => 'hello/uid/x?offset=0', 400],
  ])('cannot be sent for %s', async (_, path, code) => {
    expect((await put(await path(), { a: 1 })).code).toBe(code);
  });

  test('outlives its node, which can add nothing any more', async () => {
    const uid = await makeTask('last');
    await put(`last/${uid}/1?offset=0`, { a: 1 });
    expect((await server.call(`${fleetPath}/gpunodes/own`, { method: 'DELETE' })).code).toBe(200);
    await vi.waitFor(async () => expect((await put(`last/${uid}/1?offset=7`, { a: 2 })).code).toBe(401), { timeout: 10_000 });
    await deleteTask('last');
    expect((await log('last')).text).toBe('{"a":1}');
  });
});
