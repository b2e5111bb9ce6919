import { openEtcdStore, prefixRange, type Store } from '@capstan/store';
import { Recorder } from '@capstan/store/suite';
import { startEtcd } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, it } from 'vitest';

await describeWith(['etcd'], 'writes that share an etcd transaction', () => {
  it('are many if many are waiting', async () => {
    await using cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints });
    const made = await createAtOnce(store, '/k', 1_000);
    expect(new Set(made).size).toBe(1_000);
    const transactions = new Set(made.map((revision) => Math.floor(revision / 1_000)));
    expect(transactions.size).toBeLessThan(100);
  });

  it('have the same revisions for every server on the cluster', async () => {
    await using cluster = await startEtcd();
    await using one = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/shared' });
    await using other = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/shared' });
    const after = await one.currentRevision();
    const [seenByOne, seenByOther, narrow] = [new Recorder(), new Recorder(), new Recorder()];
    seenByOne.start(one, after);
    seenByOther.start(other, after);
    const narrowWatch = narrow.start(other, after, prefixRange('/one/1'));
    const made = (await Promise.all([createAtOnce(one, '/one', 300), createAtOnce(other, '/other', 300)])).flat();
    const deleted = await Promise.all(made.slice(0, 300).map((revision, index) => other.delete(`/one/${index}`, revision)));
    const newest = await other.currentRevision();
    for (const recorder of [seenByOne, seenByOther]) await recorder.reaches(newest);
    narrowWatch.requestProgress();
    await narrow.reaches(newest);
    expect(seenByOne.revisions).toEqual([...made, ...deleted].sort((a, b) => a - b));
    expect(seenByOther.received).toEqual(seenByOne.received);
    expect(narrow.received).toEqual(seenByOne.received.filter(({ key }) => key.startsWith('/one/1')));
    expect(await one.list(prefixRange('/'))).toEqual(await other.list(prefixRange('/')));
    expect(await one.get('/other/7')).toEqual(await other.get('/other/7'));
  });

  it("are as few as the cluster's limit requires", async () => {
    await using cluster = await startEtcd({ args: ['--max-txn-ops', '8'] });
    await using store = await openEtcdStore({ endpoints: cluster.endpoints });
    const made = await createAtOnce(store, '/k', 300);
    expect(new Set(made).size).toBe(300);
    expect(store.failure).toBeUndefined();
    expect((await store.list(prefixRange('/'))).entries).toHaveLength(300);
  });

  it("are as small as the cluster's limit requires, and only a write that is too large alone is rejected", async () => {
    await using cluster = await startEtcd({ args: ['--max-request-bytes', '20000'] });
    await using store = await openEtcdStore({ endpoints: cluster.endpoints });
    const small = createAtOnce(store, '/k', 200, 'v'.repeat(1_000));
    await expect(store.create('/large', 'x'.repeat(30_000))).rejects.toMatchObject({
      code: 'toolarge',
      message: expect.stringContaining('cannot write /large:'),
    });
    expect(new Set(await small).size).toBe(200);
    expect((await store.list(prefixRange('/'))).entries).toHaveLength(200);
  });

  it('can be resumed between two of them only while history reaches back to before both', async () => {
    await using cluster = await startEtcd();
    await using store = await openEtcdStore({ endpoints: cluster.endpoints });
    await createAtOnce(store, '/before', 1);
    const made = (await createAtOnce(store, '/k', 50)).sort((a, b) => a - b);
    const newest = await store.currentRevision();
    const between = made.find((revision, index) => Math.floor(revision / 1_000) === Math.floor((made[index + 1] ?? 0) / 1_000))!;
    await store.compact(between);
    const kept = new Recorder();
    kept.start(store, between);
    await kept.reaches(newest);
    expect(kept.revisions).toEqual(made.filter((revision) => revision > between));
    expect((await store.list(prefixRange('/k'), { revision: between })).entries).toHaveLength(made.indexOf(between) + 1);
    // Compacts as another program would, which knows only transactions: etcd then keeps only a part of this one.
    const end = Math.floor(between / 1_000) * 1_000 + 999;
    await store.compact(end);
    const lost = new Recorder();
    lost.start(store, between);
    expect(await lost.fails()).toMatchObject({ code: 'compacted', compactedRevision: end });
    await expect(store.list(prefixRange('/k'), { revision: between })).rejects.toMatchObject({ code: 'compacted' });
  });
});

function createAtOnce(store: Store, prefix: string, count: number, value = 'x'): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => store.create(`${prefix}/${index}`, value)));
}
