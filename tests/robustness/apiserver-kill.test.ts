import { setTimeout as sleep } from 'node:timers/promises';
import { type StoreDriver, startCapstan, type ToolName } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';
import { ApiClient } from './apiserver-client.ts';
import { CountingWriter, newestVersion, ResumingWatcher } from './apiserver-history.ts';

const rounds = 6;
const writerCount = 8;
const watcherCount = 3;

const drivers: readonly (readonly [StoreDriver, readonly ToolName[]])[] = [
  ['sqlite', []],
  ['etcd', ['etcd']],
];

for (const [store, needs] of drivers) {
  await describeWith(needs, `a server on ${store} that is killed repeatedly under load`, () => {
    test('loses no acknowledged write, and watches resume with every event once', async () => {
      await using server = await startCapstan({ store });
      using client = new ApiClient(server.kubeconfig);
      const writers = Array.from({ length: writerCount }, (_, index) => new CountingWriter(client, `counter-${index}`));
      const version = await newestVersion(client);
      const watchers = Array.from({ length: watcherCount }, () => new ResumingWatcher(client, version));
      const stopWriting = new AbortController();
      const stopWatching = new AbortController();
      const writing = Promise.all(writers.map((writer) => writer.run(stopWriting.signal)));
      const watching = Promise.all(watchers.map((watcher) => watcher.run(stopWatching.signal)));
      for (let round = 0; round < rounds; round++) {
        await sleep(200 + Math.random() * 400);
        await server.kill();
        await server.restart();
      }
      await sleep(300);
      stopWriting.abort();
      await writing;
      const last = await Promise.all(writers.map(async (writer) => [writer.name, await writer.read()] as const));
      await caughtUp(watchers, last);
      stopWatching.abort();
      await watching;

      expect([...writers, ...watchers].flatMap(({ faults }) => faults)).toEqual([]);
      for (const [index, [, n]] of last.entries()) expect(n).toBeGreaterThanOrEqual(writers[index]!.acknowledged);
      for (const watcher of watchers) expect(Object.fromEntries(watcher.seen)).toEqual(Object.fromEntries(last));
      // Without writes between the kills the test would prove nothing.
      expect(Math.min(...last.map(([, n]) => n))).toBeGreaterThan(rounds);
      expect(Math.min(...watchers.map(({ resumed }) => resumed))).toBeGreaterThanOrEqual(rounds);
    });
  });
}

/** Waits until every watcher has seen the last numbers, or long enough to be sure that it never will. */
async function caughtUp(watchers: readonly ResumingWatcher[], last: readonly (readonly [string, number])[]): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (watchers.every((watcher) => last.every(([name, n]) => watcher.seen.get(name) === n))) return;
    await sleep(50);
  }
}
