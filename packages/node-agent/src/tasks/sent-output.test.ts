import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogSender, type SentPart } from '../logs/sender.ts';
import { keyOf } from './engine.ts';
import type { JournalRecord } from './journal.ts';
import { TaskOutput } from './output.ts';
import { outputOf, sentOutput } from './sent-output.ts';
import type { TaskRequest } from './task-type.ts';

const request = { name: 'hello', uid: 'uid', attempt: 1 } as TaskRequest;
const key = keyOf(request);
const { signal } = new AbortController();
let directory: string;
let outputs: TaskOutput;
let records: Map<string, JournalRecord>;
/** The log in the control plane. */
let stored: string;
let parts: SentPart[];
let isOnline: boolean;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-sent-output-'));
  outputs = new TaskOutput({ directory, limit: 10 });
  records = new Map([[key, { request }]]);
  stored = '';
  parts = [];
  isOnline = true;
});
afterEach(() => rmSync(directory, { recursive: true }));

const sources = {
  journal: {
    get records() {
      return records;
    },
  },
  get outputs() {
    return outputs;
  },
};
const end = (): void => void records.set(key, { request, outcome: { phase: 'Succeeded', finishedAt: '' } });

/** The sender of an agent; another one is that of the next agent. The loss of an answer is that of the connection after the part was stored. */
function sender({ losesAnswers = false } = {}): LogSender {
  return new LogSender({
    of: 'tasks',
    sources: () => sentOutput(sources),
    send: async (part) => {
      if (!isOnline) throw new Error('away');
      parts.push(part);
      if (part.offset <= stored.length) stored += part.bytes.subarray(stored.length - part.offset).toString();
      if (losesAnswers) throw new Error('cut');
      return stored.length;
    },
    notice: () => '[lost]',
    log: () => {},
    interval: 1,
    longestInterval: 1,
  });
}

test('is sent while the task runs, and not looked at again after its end', async () => {
  const one = sender();
  await one.look(signal);
  outputs.append(key, 'one\n');
  await one.look(signal);
  outputs.append(key, 'two\n');
  await one.look(signal);
  expect(stored).toBe('one\ntwo\n');
  expect(parts.map(({ path }) => path)).toEqual(['tasks/hello/uid/1', 'tasks/hello/uid/1']);
  end();
  await one.look(signal);
  appendFileSync(outputs.file(key), 'late');
  await one.look(signal);
  await sender().look(signal);
  expect(stored).toBe('one\ntwo\n');
});

test('is there once when agents are killed between a part and its answer', async () => {
  for (const line of ['one\n', 'two\n']) {
    outputs.append(key, line);
    await expect(sender({ losesAnswers: true }).look(signal)).rejects.toThrow('cut');
  }
  rmSync(outputs.sentFile(key), { force: true });
  await sender().look(signal);
  end();
  await sender().look(signal);
  expect(stored).toBe('one\ntwo\n');
});

test('of a task that runs on while its agent stops is sent by the next one', async () => {
  outputs.append(key, 'one\n');
  await sender().look(signal);
  outputs.append(key, 'two\n');
  await sender().look(signal);
  expect(stored).toBe('one\ntwo\n');
});

test('that was cut says so, once', async () => {
  outputs.append(key, 'more than ten bytes');
  end();
  const whole = 'more than \n[the node keeps 10 bytes of output; the rest was discarded]\n';
  await expect(sender({ losesAnswers: true }).look(signal)).rejects.toThrow('cut');
  await expect(sender({ losesAnswers: true }).look(signal)).rejects.toThrow('cut');
  await sender().look(signal);
  expect(stored).toBe(whole);
  rmSync(outputs.sentFile(key));
  await sender().look(signal);
  expect(stored).toBe(whole);
});

test('is sent before it is deleted, if that works at once', async () => {
  outputs = new TaskOutput({ directory, limit: 64 << 20 });
  const text = 'x'.repeat(6 << 20);
  writeFileSync(outputs.file(key), text);
  end();
  const one = sender();
  isOnline = false;
  await expect(one.flush(outputOf(request, sources), signal)).rejects.toThrow('away');
  isOnline = true;
  await one.flush(outputOf(request, sources), signal);
  expect(stored).toBe(text);
  await outputs.remove(key);
  await sender().look(signal);
  expect(stored).toBe(text);
});

test('is not waited for without any', async () => {
  end();
  await sender().look(signal);
  expect(parts).toEqual([]);
});
