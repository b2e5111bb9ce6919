import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { placeOfTask } from './places.ts';
import { Readers } from './readers.ts';
import { LogStore } from './store.ts';
import { isTaskPath, type TaskQuery, TaskReader, taskPathOf } from './task-reader.ts';

let directory: string;
let store: LogStore;
let reader: TaskReader;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-task-reader-'));
  store = new LogStore({ directory, limits: { log: 3 << 20 }, exists: () => true, now: Date.now });
  reader = new TaskReader({ store, readers: new Readers() });
});
afterEach(() => rmSync(directory, { recursive: true }));

const append = (output: string, offset = 0): Promise<number> =>
  store.append(placeOfTask({ node: 'n1', task: 'hello', uid: 'u', attempt: 1 }), { offset, bytes: Buffer.from(output) });
const read = async (query: Partial<TaskQuery> = {}): Promise<string | undefined> => {
  const found = await reader.open({ node: 'n1', task: 'hello', ...query });
  return found && text(found);
};

test.each([
  [0, ''],
  [1, 'three\n'],
  [2, 'two\nthree\n'],
  [9, 'one\ntwo\nthree\n'],
])('reads the last %d lines', async (tailLines, expected) => {
  await append('one\ntwo\nthree\n');
  expect(await read({ tailLines })).toBe(expected);
});

test('reads on in the next file, and says that the oldest output makes way', async () => {
  const line = `${'x'.repeat(1023)}\n`;
  for (let index = 0; index < 20; index++) await append(line.repeat(256), index * (256 << 10));
  const whole = (await read())!;
  const kept = whole.length - whole.indexOf('\n') - 1;
  expect(whole.startsWith(`[${(5 << 20) - kept} bytes of earlier output are not kept]\n`)).toBe(true);
  expect(kept).toBeLessThanOrEqual(3 << 20);
  expect((await read({ tailLines: 1_500 }))!.length).toBe(1_500 << 10);
  expect((await read({ tailBytes: 10 }))!.length).toBe(10);
});

test('answers other servers with the same', async () => {
  await append('one\ntwo\n');
  const path = taskPathOf({ node: 'n1', task: 'hello', uid: 'u', attempt: 1, tailLines: 1, bytes: 10 });
  expect(isTaskPath(path)).toBe(true);
  expect(await text((await reader.serve(path))!)).toBe('two\n\n[the node has not sent the last 2 bytes of the output]\n');
  expect(await reader.serve(taskPathOf({ node: 'n1', task: 'other' }))).toBeUndefined();
  expect(isTaskPath('tasks/default/unit/node?x=1')).toBe(false);
});

test('has no more readers than it may', async () => {
  await append('one\n');
  const open = await Promise.all(Array.from({ length: 64 }, () => reader.open({ node: 'n1', task: 'hello' })));
  await expect(read()).rejects.toMatchObject({ code: 429 });
  for (const one of open) one!.destroy();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await read()).toBe('one\n');
});
