import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerLog } from '@capstan/streams';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LogSender, type LogSenderOptions, type SentPart } from '../../logs/sender.ts';
import type { UnitRecord } from '../records/record.ts';
import { type UnitOutputs, unitOutput } from './unit-output.ts';

let directory: string;
let log: ContainerLog;
let record: UnitRecord;
/** The logs in the control plane, by their paths. */
let stored: Map<string, { begin: number; text: string }>;
let failure: Error | 'unwanted' | undefined;
let parts: SentPart[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-sender-'));
  mkdirSync(join(directory, 'u'));
  log = { files: [join(directory, '0')], complete: false };
  record = { name: 'u', incarnation: 0 } as UnitRecord;
  stored = new Map();
  parts = [];
  failure = undefined;
});
afterEach(() => rmSync(directory, { recursive: true }));

/** As the store does it. */
const send: LogSenderOptions['send'] = (part) => {
  if (failure instanceof Error) return Promise.reject(failure);
  if (failure === 'unwanted') return Promise.resolve(failure);
  parts.push(part);
  const known = stored.get(part.path) ?? { begin: part.offset, text: '' };
  const end = known.begin + known.text.length;
  if (part.offset > end && !part.gap) return Promise.resolve(end);
  const text =
    part.offset > end ? `${known.text}…${part.bytes.toString()}` : known.text + part.bytes.subarray(end - part.offset).toString();
  stored.set(part.path, { begin: part.offset + part.bytes.length - text.length, text });
  return Promise.resolve(Math.max(end, part.offset + part.bytes.length));
};

function sender(): LogSender {
  const driver = { log: (_: string, run: number) => Promise.resolve(run === record.incarnation ? log : undefined) };
  const engine = {
    get runs() {
      return record.removedAt === undefined ? [{ record }] : [];
    },
    get removed() {
      return record.removedAt === undefined ? [] : [record];
    },
    driverOf: () => driver,
  } as unknown as UnitOutputs;
  const folder = (name: string): string => join(directory, name);
  const notice = (): string => '[lost]\n';
  return new LogSender({
    of: 'units',
    sources: () => unitOutput(engine, folder),
    send,
    notice,
    log: () => {},
    interval: 1,
    longestInterval: 1,
  });
}

const { signal } = new AbortController();
const add = (text: string, file = '0'): void => appendFileSync(join(directory, file), text);
const rotate = (): void => {
  renameSync(join(directory, '0'), join(directory, `0.${log.files.length}`));
  writeFileSync(join(directory, '0'), '');
  log = { ...log, files: [...log.files.slice(0, -1), join(directory, `0.${log.files.length}`), join(directory, '0')] };
};

describe('output', () => {
  test('is sent as it grows, across rotations, and by the next agent', async () => {
    const first = sender();
    add('one\n');
    await first.look(signal);
    add('two\n');
    rotate();
    add('three\n');
    await first.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\nthree\n');
    rotate();
    add('four\n');
    const next = sender();
    await next.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\nthree\nfour\n');
    const before = parts.length;
    await next.look(signal);
    expect(parts.length).toBe(before);
  });

  test('stays while the control plane is away, and is sent later', async () => {
    const one = sender();
    add('one\n');
    failure = new Error('away');
    await expect(one.look(signal)).rejects.toThrow('away');
    failure = undefined;
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\n');
  });

  test('is not sent twice if an answer or the memory of the agent was lost', async () => {
    add('one\ntwo\n');
    await sender().look(signal);
    rmSync(join(directory, 'u', 'sent-logs.json'));
    rotate();
    add('three\n');
    await sender().look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\nthree\n');
  });

  test('has a notice in place of files that are gone', async () => {
    add('one\n');
    const one = sender();
    await one.look(signal);
    rotate();
    unlinkSync(join(directory, '0.1'));
    log = { ...log, files: [join(directory, '0')] };
    add('later\n');
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\n[lost]\nlater\n');
  });

  test('goes on after a gap on a server that lacks a part of it', async () => {
    add('one\n');
    const one = sender();
    await one.look(signal);
    stored.set('u/0', { begin: 0, text: 'o' });
    add('two\n');
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('o…two\n');
    expect(parts.at(-1)).toMatchObject({ offset: 4, gap: true });
  });

  test('of a removed unit is sent to its end, and then not looked at again', async () => {
    const one = sender();
    add('one\n');
    await one.look(signal);
    mkdirSync(join(directory, 'u', 'logs', '0'), { recursive: true });
    add('two\n');
    renameSync(join(directory, '0'), join(directory, 'u', 'logs', '0', '0000'));
    record = { ...record, removedAt: {} as UnitRecord['removedAt'] & object };
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\n');
    appendFileSync(join(directory, 'u', 'logs', '0', '0000'), 'three\n');
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\n');
  });

  test('of a removed unit on another file system is sent once', async () => {
    const one = sender();
    add('one\n');
    rotate();
    add('two\n');
    await one.look(signal);
    add('three\n');
    mkdirSync(join(directory, 'u', 'logs', '0'), { recursive: true });
    for (const [index, file] of log.files.entries()) copyFileSync(file, join(directory, 'u', 'logs', '0', `000${index}`));
    record = { ...record, removedAt: {} as UnitRecord['removedAt'] & object };
    await one.look(signal);
    expect(stored.get('u/0')?.text).toBe('one\ntwo\nthree\n');
  });

  test('that nobody wants is not offered again', async () => {
    add('one\n');
    failure = 'unwanted';
    const one = sender();
    await one.look(signal);
    failure = undefined;
    await one.look(signal);
    await sender().look(signal);
    expect(parts).toEqual([]);
  });
});
