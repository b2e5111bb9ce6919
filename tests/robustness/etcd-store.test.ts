import { openEtcdStore } from '@capstan/store';
import { storeSuite } from '@capstan/store/suite';
import { type EtcdCluster, startEtcd } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';

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
});
