import { type Child, type RunningCapstan, type StoreDriver, startCapstan, startControllerManager, type ToolName } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { CascadeClient } from './cascade-client.ts';

const many = 1_500;

const drivers: readonly (readonly [StoreDriver, readonly ToolName[]])[] = [
  ['sqlite', []],
  ['etcd', ['etcd']],
];

for (const [store, needs] of drivers) {
  await describeWith(needs, `a controller-manager that is killed at work, on ${store}`, () => {
    let server: RunningCapstan;
    let client: CascadeClient;
    let manager: Child;

    const start = async (): Promise<void> => {
      manager = await startControllerManager(server);
    };
    const mapPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
    /** Kills it as soon as some of the work is done; some must also be left, or the test proves nothing. */
    const killInTheMiddle = async (done: () => Promise<number>): Promise<void> => {
      await client.until('work has begun', async () => (await done()) > 0);
      await manager.kill();
      expect(await done()).toBeLessThan(many);
    };
    const gone = (path: string): Promise<void> => client.until(`${path} is gone`, async () => (await client.get(path)) === undefined);
    const deleted = (namespace: string) => async () => many - (await client.maps(namespace)).length;

    beforeAll(async () => {
      server = await startCapstan({ store });
      client = new CascadeClient(server.kubeconfig);
      await start();
    });
    afterEach(async () => {
      if (!manager.running) await start();
    });
    afterAll(async () => {
      await manager.stop();
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    });

    test('still empties and deletes a namespace', async () => {
      await client.makeNamespace('emptied');
      await client.makeMany('emptied', many - 1);
      // This one keeps the namespace from being emptied before the kill, however fast that is.
      await client.makeHeld('emptied', 'held');
      await client.delete('/api/v1/namespaces/emptied');
      await killInTheMiddle(deleted('emptied'));
      expect(await client.get('/api/v1/namespaces/emptied')).toBeDefined();
      await client.release(mapPath('emptied', 'held'));
      await start();
      await gone('/api/v1/namespaces/emptied');
      expect(await client.maps('emptied')).toEqual([]);
    });

    test('still deletes the dependents of a deleted owner', async () => {
      await client.makeNamespace('background');
      const owner = await client.make('background', 'owner');
      await client.makeMany('background', many, owner);
      await client.delete(mapPath('background', 'owner'), 'Background');
      await killInTheMiddle(deleted('background'));
      await start();
      await client.until('all are deleted', async () => (await client.maps('background')).length === 0);
    });

    test('keeps an owner until its dependents are deleted', async () => {
      await client.makeNamespace('foreground');
      const owner = await client.make('foreground', 'owner');
      await client.makeMany('foreground', many, owner);
      await client.delete(mapPath('foreground', 'owner'), 'Foreground');
      await killInTheMiddle(async () => many + 1 - (await client.maps('foreground')).length);
      expect(await client.get(mapPath('foreground', 'owner'))).toBeDefined();
      await start();
      await gone(mapPath('foreground', 'owner'));
      expect(await client.maps('foreground')).toEqual([]);
    });

    test('keeps all orphans, without their owner reference', async () => {
      await client.makeNamespace('orphans');
      const owner = await client.make('orphans', 'owner');
      await client.makeMany('orphans', many, owner);
      const orphaned = async () =>
        (await client.maps('orphans')).filter(({ metadata }) => metadata.name !== 'owner' && metadata.ownerReferences === undefined).length;
      await client.delete(mapPath('orphans', 'owner'), 'Orphan');
      await killInTheMiddle(orphaned);
      expect(await client.get(mapPath('orphans', 'owner'))).toBeDefined();
      await start();
      await gone(mapPath('orphans', 'owner'));
      expect([(await client.maps('orphans')).length, await orphaned()]).toEqual([many, many]);
    });

    test('counts a quota right after changes that nobody counted', async () => {
      const used = async (): Promise<string | undefined> =>
        (await client.get('/api/v1/namespaces/counted/resourcequotas/quota'))?.status?.used?.['count/configmaps'];
      await client.makeNamespace('counted');
      await client.until('a root certificate', async () => (await client.get(mapPath('counted', 'kube-root-ca.crt'))) !== undefined);
      await client.makeQuota('counted', 'quota');
      await client.makeMany('counted', 50);
      await client.until('51 are counted', async () => (await used()) === '51');
      for (let number = 0; number < 20; number++) await client.delete(mapPath('counted', `map-${number}`));
      await manager.kill();
      for (let number = 20; number < 30; number++) await client.delete(mapPath('counted', `map-${number}`));
      await start();
      await client.until('21 are counted', async () => (await used()) === '21');
    });
  });
}
