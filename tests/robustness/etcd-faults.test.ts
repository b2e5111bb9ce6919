import { setTimeout as sleep } from 'node:timers/promises';
import { openEtcdStore, prefixRange, type Store, StoreError } from '@capstan/store';
import { Recorder, span } from '@capstan/store/suite';
import { type EtcdCluster, startEtcd } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterEach, expect, it } from 'vitest';
import { startProxy } from './proxy.ts';

await describeWith(['etcd'], 'when etcd fails', () => {
  let cluster: EtcdCluster | undefined;
  afterEach(async () => {
    await cluster?.[Symbol.asyncDispose]();
    cluster = undefined;
  });

  it('says so, and goes on by itself when a member that was killed comes back with its data', async () => {
    cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/kill' });
    const recorder = new Recorder();
    const after = await store.currentRevision();
    recorder.start(store, after);
    await createMany(store, '/before', 50);
    await cluster.member(0).kill();
    await expect(store.create('/lost', 'x')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Check the endpoints'),
    });
    await expect(store.get('/before/0')).rejects.toMatchObject({ code: 'unavailable' });
    expect(store.failure).toMatchObject({ code: 'unavailable' });
    await cluster.restart(0);
    await waitUntil(() => store.failure === undefined);
    await createMany(store, '/after', 50);
    const last = await store.currentRevision();
    await recorder.reaches(last);
    expect(recorder.revisions).toEqual(span(after + 1, last));
    expect(last).toBe(after + 100);
  });

  it('gives up on a call to a member that hangs, and tells each event once when it goes on', async () => {
    cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/stop' });
    const recorder = new Recorder();
    const after = await store.currentRevision();
    recorder.start(store, after);
    await createMany(store, '/before', 10);
    cluster.member(0).signal('SIGSTOP');
    await expect(store.create('/maybe', 'x')).rejects.toMatchObject({ code: 'unavailable' });
    cluster.member(0).signal('SIGCONT');
    await waitUntil(() => store.failure === undefined);
    await createMany(store, '/after', 10);
    const last = await store.currentRevision();
    await recorder.reaches(last);
    // The write that was given up may have been made; nobody can tell but the history.
    const wasMade = (await store.get('/maybe')) !== undefined;
    expect(last).toBe(after + 20 + (wasMade ? 1 : 0));
    expect(recorder.revisions).toEqual(span(after + 1, last));
  });

  it('ends a watch that was cut off while its history was compacted', async () => {
    cluster = await startEtcd();
    await using proxy = await startProxy(cluster.endpoints[0]!);
    await using direct = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/cut' });
    await using cut = await openEtcdStore({ endpoints: [proxy.endpoint], prefix: '/cut' });
    const recorder = new Recorder();
    recorder.start(cut, await direct.currentRevision());
    const first = await direct.create('/a', '1');
    await recorder.reaches(first);
    proxy.block();
    const second = await direct.update('/a', '2', first);
    const third = await direct.update('/a', '3', second);
    await direct.compact(third);
    proxy.unblock();
    expect(await recorder.fails()).toMatchObject({ code: 'compacted', compactedRevision: third });
    expect(recorder.revisions).toEqual([first]);
  });

  it('resumes a watch that was cut off, without gap or repetition', async () => {
    cluster = await startEtcd();
    await using proxy = await startProxy(cluster.endpoints[0]!);
    await using direct = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/cut' });
    await using cut = await openEtcdStore({ endpoints: [proxy.endpoint], prefix: '/cut' });
    const after = await direct.currentRevision();
    const recorder = new Recorder();
    recorder.start(cut, after);
    for (let round = 0; round < 5; round++) {
      const writing = createMany(direct, `/round/${round}`, 40);
      proxy.block();
      await writing;
      proxy.unblock();
      await createMany(direct, `/between/${round}`, 10);
    }
    await recorder.reaches(after + 250);
    expect(recorder.revisions).toEqual(span(after + 1, after + 250));
  });

  it('survives the loss of each of three members, leader or not, with every acknowledged write told once and in order', async () => {
    cluster = await startEtcd({ members: 3 });
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/three' });
    const recorder = new Recorder();
    const after = await store.currentRevision();
    recorder.start(store, after);
    const acknowledged = new Map<number, string>();
    let stop = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; !stop; round++) {
        const key = `/${writer}/${round}`;
        try {
          acknowledged.set(await store.create(key, 'x'), key);
        } catch (error) {
          expect(error).toBeInstanceOf(StoreError);
          expect(error).toMatchObject({ code: 'unavailable' });
          await sleep(20);
        }
      }
    });
    for (let member = 0; member < 3; member++) {
      await cluster.member(member).kill();
      const reached = acknowledged.size;
      await waitUntil(() => acknowledged.size > reached + 50);
      await cluster.restart(member);
    }
    stop = true;
    await Promise.all(writers);
    const last = await store.currentRevision();
    await recorder.reaches(last);
    expect(recorder.revisions).toEqual(span(after + 1, last));
    const told = new Map(recorder.received.map((event) => [event.revision, event.key]));
    for (const [revision, key] of acknowledged) expect(told.get(revision)).toBe(key);
    const present = new Set((await store.list(prefixRange('/'))).entries.map((entry) => entry.key));
    for (const key of acknowledged.values()) expect(present.has(key)).toBe(true);
  });

  it('refuses to start when no member answers, and says which were tried', async () => {
    await expect(openEtcdStore({ endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('http://127.0.0.1:1, http://127.0.0.1:2'),
    });
    await expect(openEtcdStore({ endpoints: [] })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

async function createMany(store: Store, prefix: string, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => store.create(`${prefix}/${index}`, 'x')));
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}
