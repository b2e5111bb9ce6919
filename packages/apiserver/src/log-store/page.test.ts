import { existsSync, mkdirSync, readFileSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Agent, callAs, createPlatform, enrolled, fleetPath } from '../node-agents/testing/fleet.ts';
import { createWorkspace, startTestServer, type TestServer } from '../testing/harness.ts';
import { refill } from './page.ts';

let server: TestServer;
let own: Agent;
let other: Agent;
beforeAll(async () => {
  server = await startTestServer();
  await createPlatform(server);
  await createWorkspace(server, 'tenant1');
  own = await enrolled(server, 'own');
  other = await enrolled(server, 'other');
  await makeUnit('own', 'mine-1');
  await makeUnit('other', 'theirs-1');
});
afterAll(() => server[Symbol.asyncDispose]());

const unitsOf = (node: string): string => `${fleetPath}/namespaces/node-${node}/nodeunits`;

async function makeUnit(node: string, name: string, cluster = 'tenant1'): Promise<void> {
  const owner = { cluster, namespace: 'default', name: 'unit', uid: 'uid' };
  const spec = { owner, run: 1, allocation: 'a', devices: [], cpu: 0, memory: 0, command: ['true'] };
  const body = { apiVersion: 'fleet.capstan.dev/v1alpha1', kind: 'NodeUnit', metadata: { name }, spec };
  const reply = await server.call(unitsOf(node), { method: 'POST', body });
  if (reply.code !== 201) throw new Error(reply.text);
}

/** Every part is this text. */
const text = '{"a":1}';
const put = (agent: Agent, path: string, body: object = { a: 1 }) =>
  callAs(server, agent, `/capstan/logs/${path}`, { method: 'PUT', body });
const fileOf = (nodeUnit: string, node = 'own', cluster = 'tenant1'): string =>
  join(server.directory, 'logs', cluster, 'default', nodeUnit, node, '0/0000000000000000.log');

describe('an agent', () => {
  test('sends output of its own units, any number of times', async () => {
    for (let tries = 0; tries < 2; tries++) {
      const { code, text: answer } = await put(own, 'mine-1/0?offset=0');
      expect([code, answer]).toEqual([200, '{"size":7}']);
    }
    expect((await put(own, 'mine-1/0?offset=7')).text).toBe('{"size":14}');
    expect(readFileSync(fileOf('mine-1'), 'utf8')).toBe(text + text);
  });

  test('leaves no gaps by accident', async () => {
    expect((await put(own, 'mine-1/0?offset=100')).text).toBe('{"size":14}');
  });

  test('goes on when the NodeUnit was deleted, for its last lines', async () => {
    await makeUnit('own', 'short-1');
    await server.call(`${unitsOf('own')}/short-1`, { method: 'DELETE' });
    await vi.waitFor(async () => expect((await server.call(`${unitsOf('own')}/short-1`)).code).toBe(404), { timeout: 10_000 });
    expect((await put(own, 'short-1/0?offset=0')).code).toBe(200);
  });

  test.each([
    ['a unit of another node', 'theirs-1/0?offset=0', 404],
    ['a unit that does not exist', 'nobody-1/0?offset=0', 404],
    ['a path', '..%2f..%2fetc/0?offset=0', 400],
    ['no unit', '?offset=0', 404],
    ['no run', 'mine-1?offset=0', 400],
    ['a run that is no number', 'mine-1/-1?offset=0', 400],
    ['a run beyond all numbers', 'mine-1/9999999?offset=0', 400],
    ['no offset', 'mine-1/0', 400],
    ['an offset that is no number', 'mine-1/0?offset=1e3', 400],
    ['an offset beyond all numbers', 'mine-1/0?offset=99999999999999999999', 400],
  ])('cannot send output of %s', async (_, path, code) => {
    expect((await put(own, path)).code).toBe(code);
  });

  test('cannot send a part that is too large', async () => {
    expect((await put(own, 'mine-1/0?offset=14', { a: 'x'.repeat(300 << 10) })).code).toBe(413);
    expect(readFileSync(fileOf('mine-1'), 'utf8')).toBe(text + text);
  });

  test('cannot read logs, or send them in the name of another node', async () => {
    expect((await callAs(server, own, '/capstan/logs/mine-1/0')).code).toBe(403);
    expect((await callAs(server, own, '/capstan/logs/mine-1/0', { method: 'DELETE' })).code).toBe(403);
    expect((await callAs(server, own, '/clusters/tenant1/capstan/logs/mine-1/0?offset=0', { method: 'PUT', body: {} })).code).toBe(403);
    expect(existsSync(fileOf('theirs-1', 'own'))).toBe(false);
    expect((await put(other, 'theirs-1/0?offset=0')).code).toBe(200);
  });

  test('sends nothing for a workspace that is deleted, and its logs go with it', async () => {
    await createWorkspace(server, 'tenant2');
    await makeUnit('own', 'short-lived-1', 'tenant2');
    expect((await put(own, 'short-lived-1/0?offset=0')).code).toBe(200);
    const file = fileOf('short-lived-1', 'own', 'tenant2');
    expect(existsSync(file)).toBe(true);
    const cluster = '/clusters/tenant2/apis/core.kcp.io/v1alpha1/logicalclusters/cluster';
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.call(cluster, { method: 'DELETE' });
    await server.call(cluster, { method: 'PATCH', headers, body: { metadata: { finalizers: null } } });
    await vi.waitFor(() => expect(existsSync(file)).toBe(false), { timeout: 10_000 });
    expect((await put(own, 'short-lived-1/0?offset=0')).code).toBe(400);
    expect(existsSync(file)).toBe(false);
  });

  test('is told to try again when the disk is full, and nothing of the part is stored', async () => {
    await makeUnit('own', 'full-1');
    const file = fileOf('full-1');
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync('/dev/full', file);
    const { code, text: answer } = await put(own, 'full-1/0?offset=0');
    expect([code, answer]).toEqual([503, expect.stringContaining('the log store has no room')]);
    unlinkSync(file);
    expect((await put(own, 'full-1/0?offset=0')).text).toBe('{"size":7}');
  });

  test('may send many small parts', async () => {
    await makeUnit('own', 'chatty-1');
    for (let count = 0; count < 200; count++)
      expect((await put(own, `chatty-1/0?offset=${7 * count}`)).text).toBe(`{"size":${7 * (count + 1)}}`);
  }, 30_000);

  test('must wait when it sends too much at once', async () => {
    const codes = await Promise.all(Array.from({ length: 40 }, async () => (await put(other, 'theirs-1/0?offset=0')).code));
    expect(new Set(codes)).toEqual(new Set([200, 429]));
  });

  test('must wait when it sends too much in a second', () => {
    const allowance = { left: 0, at: 0, running: 0 };
    refill(allowance, 500);
    expect(allowance.left).toBe(2 << 20);
    refill(allowance, 3_600_000);
    expect(allowance.left).toBe(32 << 20);
  });
});

test('nobody else can send output, not even an administrator', async () => {
  expect((await server.call('/capstan/logs/mine-1/0?offset=0', { method: 'PUT', body: {} })).code).toBe(403);
  expect((await server.call('/capstan/logs/mine-1/0?offset=0', { method: 'PUT', body: {}, anonymous: true })).code).toBe(403);
});
