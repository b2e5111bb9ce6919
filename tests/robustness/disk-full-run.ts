import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteStore, prefixRange, type StoreError } from '@capstan/store';

/* Runs on a file system of a few megabytes, given as the argument, and prints the result as one line of JSON. */

const [root] = process.argv.slice(2);
const store = await openSqliteStore({ directory: `${root}/store` });
const filler = `${root}/filler`;
const value = 'x'.repeat(4000);
const acknowledged: string[] = [];

let failure: StoreError | undefined;
for (let index = 0; failure === undefined && index < 10_000; index++) {
  try {
    await store.create(`/before/${index}`, value);
    acknowledged.push(`/before/${index}`);
    // Leaves some space, so that the disk is filled by another file and then by the store.
    if (index === 50) fill(filler, 1024 * 1024);
  } catch (error) {
    failure = error as StoreError;
  }
}
const whileFull = {
  code: failure?.code,
  message: failure?.message,
  failure: store.failure?.code,
  readable: (await store.get('/before/0'))?.value === value,
  listed: (await store.list(prefixRange('/'))).entries.length === acknowledged.length,
};

rmSync(filler);
for (let waited = 0; store.failure !== undefined && waited < 200; waited++) await sleep(50);
const recovered = store.failure === undefined;
let written = 0;
for (let index = 0; index < 20; index++) {
  await store.create(`/after/${index}`, value);
  acknowledged.push(`/after/${index}`);
  written++;
}
await store[Symbol.asyncDispose]();

await using again = await openSqliteStore({ directory: `${root}/store` });
const kept = new Set((await again.list(prefixRange('/'))).entries.map((entry) => entry.key));
const lost = acknowledged.filter((key) => !kept.has(key));
const extra = kept.size - acknowledged.length;
process.stdout.write(`${JSON.stringify({ whileFull, recovered, written, lost, extra, sound: again.failure === undefined })}\n`);

function fill(file: string, bytes: number): void {
  writeFileSync(file, Buffer.alloc(bytes));
}
