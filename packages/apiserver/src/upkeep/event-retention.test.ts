import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { openSqliteStore } from '@capstan/store';
import { describe, expect, it } from 'vitest';
import { storedText } from '../cache/entry.ts';
import { WatchCache } from '../cache/watch-cache.ts';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { keepEventsFor } from './event-retention.ts';
import { RevisionClock } from './revision-clock.ts';

describe('the revision clock', () => {
  it('knows which revisions were written by a given time, to the precision of its samples', () => {
    const clock = new RevisionClock();
    expect(clock.upTo(1000)).toBe(0);
    clock.add(100, 7);
    clock.add(200, 9);
    clock.add(150, 10);
    clock.add(300, 9);
    expect([clock.upTo(99), clock.upTo(150), clock.upTo(250), clock.upTo(1000)]).toEqual([0, 7, 9, 9]);
  });
});

describe('events', () => {
  const path = '/api/v1/namespaces/default/events';
  const record = (server: TestServer, name: string) =>
    server.call(path, { method: 'POST', body: { metadata: { name }, involvedObject: { kind: 'Pod', name: 'p', namespace: 'default' } } });
  const names = async (server: TestServer): Promise<(string | undefined)[]> =>
    ((await server.call(path)).json().items ?? []).map(({ metadata }) => metadata.name);

  it('are deleted after their lifetime and watchers see it; other objects stay', async () => {
    await using server = await startTestServer({ eventLifetime: 600 });
    await server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'stays' } } });
    const created = (await record(server, 'old')).json();
    const seen = await server.watch(`${path}?watch=true&resourceVersion=${created.metadata.resourceVersion}`, 1);
    expect(seen).toMatchObject([{ type: 'DELETED', object: { metadata: { name: 'old' } } }]);
    expect((await server.call('/api/v1/namespaces/default/configmaps/stays')).code).toBe(200);
  });

  it('stay as long as they are updated', async () => {
    await using server = await startTestServer({ eventLifetime: 2500 });
    await record(server, 'repeated');
    await record(server, 'once');
    let count = 0;
    while ((await names(server)).includes('once')) {
      const body = { count: ++count };
      await server.call(`${path}/repeated`, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } });
    }
    expect(await names(server)).toEqual(['repeated']);
  });

  it('that were old before the server started are recognized', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'capstan-events-'));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(directory, { recursive: true, force: true }));
    const store = cleanup.use(await openSqliteStore({ directory }));
    const now = new Date();
    const ago = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();
    const write = async (name: string, metadata: KubeObject['metadata']): Promise<void> => {
      const event: KubeObject = { apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'default', ...metadata } };
      await store.create(`/registry/root/core/events/default/${name}`, storedText(event));
    };
    await write('old', { creationTimestamp: ago(90) });
    await write('touched', { creationTimestamp: ago(90), managedFields: [{ manager: 'm', time: ago(30) }] });
    await write('new', { creationTimestamp: ago(20) });
    const cache = cleanup.use(await WatchCache.load({ store, onLost: () => {} }));
    const stop = new AbortController();
    cleanup.defer(() => stop.abort());
    const failures: unknown[] = [];
    keepEventsFor({ cache, store, now: () => now, signal: stop.signal, onError: (error) => failures.push(error) });
    await expect
      .poll(() => cache.list({ group: '', resource: 'events' }, rootCluster).map(({ metadata }) => metadata.name))
      .toEqual(['new', 'touched']);
    expect(failures).toEqual([]);
  });
});
