import { exportStore, importStore, openEtcdStore, openSqliteStore, prefixRange, type Store } from '@capstan/store';
import { storeSuite } from '@capstan/store/suite';
import { type EtcdCluster, startEtcd, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, it } from 'vitest';

await describeWith(['etcd'], 'the store on a real etcd', () => {
  let cluster: EtcdCluster;
  let places = 0;

  storeSuite('etcd', {
    async start() {
      cluster = await startEtcd();
    },
    async stop() {
      await cluster[Symbol.asyncDispose]();
    },
    async makePlace() {
      const prefix = `/place-${places++}`;
      return {
        open: () => openEtcdStore({ endpoints: cluster.endpoints, prefix }),
        async [Symbol.asyncDispose]() {},
      };
    },
  });

  it('moves from SQLite to etcd and back', async () => {
    await using own = await startEtcd();
    using directory = temporaryDirectory('move');
    const contents = async (store: Store) => (await store.list(prefixRange(''))).entries.map(({ key, value }) => [key, value]);
    await using sqlite = await openSqliteStore({ directory: directory.join('a') });
    await Promise.all(Array.from({ length: 700 }, (_, index) => sqlite.create(`/k/${index}`, `{"n":${index},"t":"\u2028"}`)));
    await exportStore(sqlite, directory.join('out.jsonl'));
    // No prefix: the store is the whole cluster.
    await using etcd = await openEtcdStore({ endpoints: own.endpoints });
    await importStore(etcd, directory.join('out.jsonl'));
    expect(await contents(etcd)).toEqual(await contents(sqlite));
    expect(await etcd.snapshot(directory.join('back.jsonl'))).toMatchObject({ keys: 700, revision: await etcd.currentRevision() });
    await using again = await openSqliteStore({ directory: directory.join('b') });
    await importStore(again, directory.join('back.jsonl'));
    expect(await contents(again)).toEqual(await contents(sqlite));
  });
});
