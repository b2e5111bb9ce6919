import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore, prefixRange, type Store, type StoreEvent } from '@capstan/store';
import { temporaryDirectory } from '@capstan/testbed';
import { expect, it } from 'vitest';

const everything = prefixRange('/');
const program = join(import.meta.dirname, 'load-writer.ts');

interface Acknowledged {
  readonly operation: string;
  readonly key: string;
  readonly value: string;
  readonly revision: number;
}

/** Runs the writers until the kill, and returns the writes that were acknowledged. */
async function writeUntilKilled(directory: string, options: { seed: number; delay: number }): Promise<Acknowledged[]> {
  const journal = `${directory}.journal`;
  // A file and not a pipe: it accepts every line immediately, and keeps it when the writer dies.
  const output = openSync(journal, 'w');
  const child = spawn(process.execPath, [program, directory, '24', String(options.seed)], { stdio: ['ignore', output, 'inherit', 'ipc'] });
  closeSync(output);
  child.once('message', () => setTimeout(() => child.kill('SIGKILL'), options.delay));
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
  // The kill may have truncated the last line.
  const lines = readFileSync(journal, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [operation, key, value, revision] = line.split(' ');
    return { operation: operation!, key: key!, value: value!, revision: Number(revision) };
  });
}

async function readHistory(store: Store): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  const newest = await store.currentRevision();
  const after = await store.compactedRevision();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const watch = store.watch(everything, after, {
    events: (batch) => {
      events.push(...batch);
    },
    progress: (revision) => {
      if (revision >= newest) resolve();
    },
    failed: reject,
  });
  await promise;
  watch.close();
  expect(events.map((event) => event.revision)).toEqual(Array.from({ length: newest - after }, (_, index) => after + 1 + index));
  return events;
}

it('loses no acknowledged write, reuses no revision and leaves no gap, however often the process is killed', async () => {
  using place = temporaryDirectory('kill');
  const directory = place.join('store');
  const expected = new Map<string, { value: string; revision: number } | undefined>();
  const given = new Set<number>();
  let newestBefore = 0;
  let newestGiven = 0;
  for (let seed = 0; seed < 8; seed++) {
    const acknowledged = await writeUntilKilled(directory, { seed, delay: 60 + ((seed * 173) % 400) });
    expect(acknowledged.length).toBeGreaterThan(0);
    for (const { operation, key, value, revision } of acknowledged) {
      expect(given.has(revision)).toBe(false);
      expect(revision).toBeGreaterThan(newestBefore);
      given.add(revision);
      newestGiven = Math.max(newestGiven, revision);
      const known = expected.get(key);
      if (known === undefined || known.revision < revision) expected.set(key, operation === 'delete' ? undefined : { value, revision });
    }

    await using store = await openSqliteStore({ directory: directory });
    expect(store.failure).toBeUndefined();
    newestBefore = await store.currentRevision();
    expect(newestBefore).toBeGreaterThanOrEqual(newestGiven);
    const history = new Map((await readHistory(store)).map((event) => [event.revision, event]));
    for (const { operation, key, value, revision } of acknowledged) {
      const event = history.get(revision);
      if (event === undefined) expect(revision).toBeLessThanOrEqual(await store.compactedRevision());
      else if (operation === 'delete') expect(event).toMatchObject({ type: 'delete', key });
      else expect(event).toMatchObject({ type: 'put', key, value });
    }
    const present = new Map((await store.list(everything)).entries.map((entry) => [entry.key, entry]));
    for (const [key, last] of expected) {
      const entry = present.get(key);
      // The write after the last acknowledged one may have been made without its acknowledgement.
      const unheard = history.get(entry?.revision ?? -1) ?? [...history.values()].findLast((event) => event.key === key);
      const isAhead = unheard !== undefined && unheard.revision > (last?.revision ?? 0) && !given.has(unheard.revision);
      if (!isAhead)
        expect({ key, value: entry?.value, revision: entry?.revision }).toEqual({ key, value: last?.value, revision: last?.revision });
      // From now on the stored state counts.
      expected.set(key, entry && { value: entry.value, revision: entry.revision });
    }
  }
});
