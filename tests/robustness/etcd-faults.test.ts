import { setTimeout as sleep } from 'node:timers/promises';
import { openEtcdStore, prefixRange, type Store, StoreError } from '@capstan/store';
import { Recorder } from '@capstan/store/suite';
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

  it('reports it, and resumes when a killed member returns with its data', async () => {
    cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/kill' });
    const recorder = new Recorder();
    const after = await store.currentRevision();
    recorder.start(store, after);
    const before = await createMany(store, '/before', 50);
    await cluster.member(0).kill();
    await expect(store.create('/lost', 'x')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Check the endpoints'),
    });
    await expect(store.get('/before/0')).rejects.toMatchObject({ code: 'unavailable' });
    expect(store.failure).toMatchObject({ code: 'unavailable' });
    await cluster.restart(0);
    await waitUntil(() => store.failure === undefined);
    const later = await createMany(store, '/after', 50);
    await recorder.reaches(await store.currentRevision());
    expect(recorder.revisions).toEqual([...before, ...later]);
  });

  it('gives up on a call to a member that hangs, and delivers each event once when it continues', async () => {
    cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/stop' });
    const recorder = new Recorder();
    const after = await store.currentRevision();
    recorder.start(store, after);
    const made = await createMany(store, '/before', 10);
    await cluster.member(0).pause();
    const given = await Promise.allSettled(['/maybe/1', '/maybe/2', '/maybe/3'].map((key) => store.create(key, 'x')));
    for (const [index, result] of given.entries()) {
      // Each error names only the key of its own write.
      const message = expect.stringContaining(`cannot write /maybe/${index + 1}: `);
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'unavailable', message } });
    }
    cluster.member(0).signal('SIGCONT');
    await waitUntil(() => store.failure === undefined);
    made.push(...(await createMany(store, '/after', 10)));
    await recorder.reaches(await store.currentRevision());
    // The abandoned writes may have taken effect; only the history tells.
    const { entries } = await store.list(prefixRange('/maybe/'));
    for (const { revision } of entries) made.push(revision);
    expect(recorder.revisions).toEqual(made.toSorted((a, b) => a - b));
  });

  it('ends an interrupted watch whose history was compacted', async () => {
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
    await direct.update('/a', '3', second);
    await direct.compact(await direct.currentRevision());
    proxy.unblock();
    expect(await recorder.fails()).toMatchObject({ code: 'compacted', compactedRevision: await direct.compactedRevision() });
    expect(recorder.revisions).toEqual([first]);
  });

  it('resumes an interrupted watch, without gaps or repetitions', async () => {
    cluster = await startEtcd();
    await using proxy = await startProxy(cluster.endpoints[0]!);
    await using direct = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/cut' });
    await using cut = await openEtcdStore({ endpoints: [proxy.endpoint], prefix: '/cut' });
    const after = await direct.currentRevision();
    const recorder = new Recorder();
    recorder.start(cut, after);
    const made: number[] = [];
    for (let round = 0; round < 5; round++) {
      const writing = createMany(direct, `/round/${round}`, 40);
      proxy.block();
      made.push(...(await writing));
      proxy.unblock();
      made.push(...(await createMany(direct, `/between/${round}`, 10)));
    }
    await recorder.reaches(made.at(-1)!);
    expect(made).toHaveLength(250);
    expect(recorder.revisions).toEqual(made);
  });

  it('survives the loss of each of three members, leader or not, and delivers every acknowledged write once and in order', async () => {
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
    await recorder.reaches(await store.currentRevision());
    const told = new Map(recorder.received.map((event) => [event.revision, event.key]));
    for (const [revision, key] of acknowledged) expect(told.get(revision)).toBe(key);
    const present = new Map((await store.list(prefixRange('/'))).entries.map((entry) => [entry.key, entry.revision]));
    for (const [revision, key] of acknowledged) expect(present.get(key)).toBe(revision);
    expect(recorder.revisions).toEqual([...present.values()].sort((a, b) => a - b));
  });

  it('fails to start if no member answers, and names those it tried', async () => {
    await expect(openEtcdStore({ endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('http://127.0.0.1:1, http://127.0.0.1:2'),
    });
    await expect(openEtcdStore({ endpoints: [] })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

/** The created revisions, in order. */
async function createMany(store: Store, prefix: string, count: number): Promise<number[]> {
  const made = await Promise.all(Array.from({ length: count }, (_, index) => store.create(`${prefix}/${index}`, 'x')));
  return made.sort((a, b) => a - b);
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}
