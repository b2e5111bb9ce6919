import { writeSync } from 'node:fs';
import { openSqliteStore, StoreError } from '@capstan/store';

/*
 * A process made to be killed: many writers create, update and delete keys of their own as fast as they can. After the store has
 * acknowledged a write, it is logged to the file on standard output as one line `<operation> <key> <value> <revision>`.
 */

const [directory, writers, seed] = process.argv.slice(2);
const store = await openSqliteStore({ directory: directory! });
process.send?.('ready');
// The test has died: nobody is left to kill this process.
process.on('disconnect', () => process.exit(1));

async function writeForever(writer: number): Promise<never> {
  for (let round = 0; ; round++) {
    const key = `/${seed}/${writer}/${round}`;
    const value = `${seed}-${writer}-${round}-${'x'.repeat((writer * 97 + round * 31) % 3000)}`;
    const created = await store.create(key, value);
    tell('create', key, value, created);
    const updated = await store.update(key, `${value}+`, created);
    tell('update', key, `${value}+`, updated);
    if (round % 3 === 0) tell('delete', key, '-', await store.delete(key, updated));
  }
}

function tell(...parts: (string | number)[]): void {
  writeSync(1, `${parts.join(' ')}\n`);
}

// Compacts in the meantime, so that some kills interrupt a sweep.
setInterval(() => {
  void store
    .currentRevision()
    .then((revision) => store.compact(Math.max(1, revision - 500)))
    .catch((error: unknown) => {
      if (!(error instanceof StoreError)) throw error;
    });
}, 40);

await Promise.all(Array.from({ length: Number(writers) }, (_, writer) => writeForever(writer)));
