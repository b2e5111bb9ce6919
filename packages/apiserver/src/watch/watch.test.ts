import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';

let server: TestServer;
let namespace = 0;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const merge = { 'content-type': 'application/merge-patch+json' };

async function fresh(): Promise<string> {
  const name = `watch-${++namespace}`;
  await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name } } });
  return `/api/v1/namespaces/${name}/configmaps`;
}

async function make(path: string, name: string, labels: Record<string, string> = {}): Promise<string> {
  const reply = await server.call(path, { method: 'POST', body: { metadata: { name, labels }, data: { a: '1' } } });
  expect(reply.code).toBe(201);
  return reply.json().metadata.resourceVersion!;
}

describe('a watch', () => {
  test('from a revision receives what came after it, in order', async () => {
    const path = await fresh();
    const revision = await make(path, 'a');
    await make(path, 'b');
    await server.call(`${path}/a`, { method: 'PATCH', headers: merge, body: { data: { a: '2' } } });
    await server.call(`${path}/b`, { method: 'DELETE' });
    const events = await server.watch(`${path}?watch=true&resourceVersion=${revision}`, 3);
    expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'b'],
      ['MODIFIED', 'a'],
      ['DELETED', 'b'],
    ]);
    const revisions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(revisions).toEqual([...revisions].sort((one, other) => one - other));
  });

  test('from a revision that does not exist expires, as after the restore of a backup', async () => {
    const path = await fresh();
    const revision = Number(await make(path, 'a')) + 1_000_000;
    const reply = await server.call(`${path}?watch=true&resourceVersion=${revision}`);
    expect([reply.code, reply.json()['reason']]).toEqual([410, 'Expired']);
  });

  test('without a revision starts with the existing objects', async () => {
    const path = await fresh();
    await make(path, 'a');
    await make(path, 'b');
    const events = await server.watch(`${path}?watch=true`, 2);
    expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'a'],
      ['ADDED', 'b'],
    ]);
  });

  test('with a selector reports objects that stop matching as deleted and those that start matching as added', async () => {
    const path = await fresh();
    const revision = await make(path, 'a', { g: 'x' });
    await server.call(`${path}/a`, { method: 'PATCH', headers: merge, body: { metadata: { labels: { g: 'y' } } } });
    await server.call(`${path}/a`, { method: 'PATCH', headers: merge, body: { metadata: { labels: { g: 'x' } } } });
    const events = await server.watch(`${path}?watch=true&labelSelector=g%3Dx&resourceVersion=${revision}`, 2);
    expect(events.map(({ type, object }) => [type, object.metadata.labels])).toEqual([
      ['DELETED', { g: 'x' }],
      ['ADDED', { g: 'x' }],
    ]);
    expect(Number(events[0]!.object.metadata.resourceVersion)).toBeGreaterThan(Number(revision));
  });

  test('with sendInitialEvents receives a bookmark after the initial events', async () => {
    const path = await fresh();
    await make(path, 'a');
    const events = await server.watch(
      `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      2,
    );
    expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']);
    expect(events[1]!.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    expect(events[1]!.object.kind).toBe('ConfigMap');
  });

  test('receives bookmarks with an otherwise empty object of the kind', async () => {
    const pods = '/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const [event] = await server.watch(`${pods}&labelSelector=none%3Dnone`, 1);
    const { resourceVersion, ...metadata } = event!.object.metadata;
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    expect({ ...event!.object, metadata }).toEqual({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
      spec: { containers: null },
      status: {},
    });
  });

  test('resumes after a restart from the last revision it saw', async () => {
    const path = await fresh();
    const revision = await make(path, 'a');
    await make(path, 'b');
    await server.restart();
    await make(path, 'c');
    const events = await server.watch(`${path}?watch=true&resourceVersion=${revision}`, 2);
    expect(events.map(({ object }) => object.metadata.name)).toEqual(['b', 'c']);
  });

  test('receives live events of many writers exactly once', async () => {
    const path = await fresh();
    const revision = await make(path, 'first');
    const watching = server.watch(`${path}?watch=true&resourceVersion=${revision}`, 100);
    await Promise.all(Array.from({ length: 100 }, (_, at) => make(path, `n-${at}`)));
    const names = (await watching).map(({ object }) => object.metadata.name);
    expect(new Set(names).size).toBe(100);
  });

  test('of a client that stops reading blocks nobody, and misses nothing when it reads again', async () => {
    const path = await fresh();
    const revision = await make(path, 'first');
    const reader = await server.open(`${path}?watch=true&resourceVersion=${revision}`);
    reader.pause();
    const value = 'x'.repeat(100_000);
    for (let at = 0; at < 120; at++) {
      const made = await server.call(path, { method: 'POST', body: { metadata: { name: `big-${at}` }, data: { value } } });
      expect(made.code).toBe(201);
    }
    let text = '';
    reader.setEncoding('utf8');
    reader.on('data', (chunk: string) => {
      text += chunk;
    });
    reader.resume();
    await expect.poll(() => text.split('\n').length - 1, { timeout: 20_000 }).toBe(120);
    const names = text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name);
    expect(names).toEqual(Array.from({ length: 120 }, (_, at) => `big-${at}`));
    reader.destroy();
  });

  test('that times out sends nothing but events', async () => {
    const path = await fresh();
    const reply = await server.call(`${path}?watch=true&timeoutSeconds=1`);
    expect(reply.code).toBe(200);
    expect(reply.text).toBe('');
  });
});
