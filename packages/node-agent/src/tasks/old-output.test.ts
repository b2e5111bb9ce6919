import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ProcessState } from '../processes/driver.ts';
import { keyOf } from './engine.ts';
import type { JournalRecord } from './journal.ts';
import { type OldOutputOptions, removeOldOutput } from './old-output.ts';
import { TaskOutput } from './output.ts';
import { serveTaskLog } from './task-log.ts';
import type { TaskRequest } from './task-type.ts';

const hour = 3_600_000;
const now = Date.UTC(2030, 0, 2);
let directory: string;
let outputs: TaskOutput;
let records: Map<string, JournalRecord>;
let processes: Map<string, { readonly state: ProcessState; readonly complete: boolean }>;
let sent: string[];
let isOnline: boolean;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-old-output-'));
  outputs = new TaskOutput({ directory: join(directory, 'output'), limit: 1_000 });
  [records, processes, sent, isOnline] = [new Map(), new Map(), [], true];
});
afterEach(() => rmSync(directory, { recursive: true }));

const folderOf = (key: string): string => join(directory, 'processes', key);
const left = (): string[] => readdirSync(join(directory, 'output')).sort();

/** An attempt with output, which ended so many hours ago; never, without a number. */
function attempt(uid: string, { ended, program }: { ended?: number; program?: { complete: boolean } } = {}): string {
  const request = { name: uid, uid, attempt: 1 } as TaskRequest;
  const key = keyOf(request);
  const finishedAt = new Date(now - (ended ?? 0) * hour).toISOString();
  records.set(key, { request, ...(ended !== undefined && { outcome: { phase: 'Succeeded', finishedAt } }) });
  if (program === undefined) outputs.append(key, 'text');
  else {
    mkdirSync(folderOf(key), { recursive: true });
    writeFileSync(join(folderOf(key), 'output'), 'text');
    outputs.redirect(key, join(folderOf(key), 'output'));
    processes.set(key, { state: { phase: 'exited', code: 0 }, complete: program.complete });
  }
  return key;
}

const look = (): Promise<void> =>
  removeOldOutput({
    journal: { records },
    knows: (key) => records.has(key),
    outputs,
    processes: {
      find: async (id) => processes.get(id)?.state,
      output: async (id) => ({ file: join(folderOf(id), 'output'), truncated: false, complete: processes.get(id)?.complete ?? false }),
      forget: async (id) => {
        processes.delete(id);
        rmSync(folderOf(id), { recursive: true });
      },
      list: async () => [...processes.keys()],
    },
    send: async ({ uid }) => {
      if (!isOnline) throw new Error('away');
      sent.push(uid);
    },
    keep: 10 * hour,
    now: () => now,
    log: () => {},
  } satisfies OldOutputOptions);

test('is deleted some time after the end of its task, with the records of its process, once it was sent', async () => {
  const [printed, program] = [attempt('printed', { ended: 11 }), attempt('program', { ended: 11, program: { complete: true } })];
  const kept = [attempt('young', { ended: 9 }), attempt('running')];
  await look();
  expect(left()).toEqual([...kept, `${printed}.expired`, `${program}.expired`].sort());
  expect([existsSync(folderOf(program)), sent]).toEqual([false, ['printed', 'program']]);
  await look();
  expect(sent).toEqual(['printed', 'program']);
});

test('stays as long as the control plane does not take the rest of it', async () => {
  const key = attempt('unsent', { ended: 1_000 });
  isOnline = false;
  await look();
  expect(left()).toEqual([key]);
  isOnline = true;
  await look();
  expect(left()).toEqual([`${key}.expired`]);
});

test('stays as long as a program in the background can write to it', async () => {
  const key = attempt('background', { ended: 11, program: { complete: false } });
  await look();
  expect([left(), existsSync(folderOf(key))]).toEqual([[key], true]);
});

test('of tasks that the journal has forgotten is deleted, except that of programs that run', async () => {
  const [forgotten, running] = [
    attempt('forgotten', { ended: 1, program: { complete: true } }),
    attempt('lost', { program: { complete: true } }),
  ];
  processes.set(running, { state: { phase: 'running', pid: 1 }, complete: false });
  processes.set('service-a', { state: { phase: 'exited', code: 0 }, complete: true });
  writeFileSync(outputs.sentFile(forgotten), '{}');
  records.clear();
  await look();
  expect([left(), [...processes.keys()]]).toEqual([[], [running, 'service-a']]);
});

test('that was deleted is not served as empty output: the control plane has its own', async () => {
  attempt('old', { ended: 11 });
  await look();
  const codes: number[] = [];
  const request = {
    method: 'GET',
    route: { kind: 'node', path: '/tasks/old/1/log' },
    query: new URLSearchParams(),
    respond: (code: number) => {
      codes.push(code);
      return { end: () => {} };
    },
  } as unknown as Parameters<typeof serveTaskLog>[0];
  await serveTaskLog(request, { engine: { isOpen: () => false, knows: () => true }, outputs });
  expect(codes).toEqual([404]);
  await outputs.remove('task-old-1');
  expect(left()).toEqual([]);
});
