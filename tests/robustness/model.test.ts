import { openEtcdStore, openSqliteStore } from '@capstan/store';
import { type EtcdCluster, startEtcd, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { compareWithModel, steps } from './model-run.ts';

describe('SQLite', () => {
  it('behaves like the model under random histories', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        using directory = temporaryDirectory('model');
        await compareWithModel(taken, { open: () => openSqliteStore({ directory: directory.path }), edge: 1 });
      }),
      { numRuns: 40 },
    );
  });
});

await describeWith(['etcd'], 'etcd', () => {
  let cluster: EtcdCluster;
  let places = 0;
  beforeAll(async () => {
    cluster = await startEtcd();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  it('behaves like the model under random histories', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const prefix = `/model-${places++}`;
        // An etcd transaction has a thousand revisions.
        await compareWithModel(taken, { open: () => openEtcdStore({ endpoints: cluster.endpoints, prefix }), edge: 1_000 });
      }),
      { numRuns: 40 },
    );
  });
});
