import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LogOptions, logOptions } from './options.ts';
import { type ContainerLog, readLog } from './read-log.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-logs-'));
afterAll(() => rmSync(directory, { recursive: true }));
let log: ContainerLog;
let count = 0;
const file = (name: string): string => join(directory, `${count}-${name}`);
const line = (text: string, { second = 0, tag = 'F' } = {}): string =>
  `2031-01-01T00:00:${String(second).padStart(2, '0')}.123456789Z stdout ${tag} ${text}\n`;
beforeEach(() => {
  count++;
  writeFileSync(file('1'), line('one', { second: 1 }) + line('two ', { second: 2, tag: 'P' }) + line('parts', { second: 2 }));
  writeFileSync(file('2'), line('three', { second: 3 }) + line('', { second: 4 }) + line('five', { second: 5 }));
  log = { files: [file('1'), file('2')], complete: true };
});

const none = new AbortController().signal;
async function read(options: Partial<LogOptions>, signal = none): Promise<string> {
  let text = '';
  for await (const part of readLog(async () => log, { follow: false, timestamps: false, ...options }, signal)) text += part.toString();
  return text;
}
const query = (text: string): Partial<LogOptions> =>
  logOptions(new URLSearchParams(text), Date.parse('2031-01-01T00:00:06Z')) as LogOptions;

describe('a log', () => {
  test.each([
    ['', 'one\ntwo parts\nthree\n\nfive\n'],
    ['tailLines=0', ''],
    ['tailLines=1', 'five\n'],
    ['tailLines=3', 'three\n\nfive\n'],
    ['tailLines=4', 'two parts\nthree\n\nfive\n'],
    ['tailLines=99', 'one\ntwo parts\nthree\n\nfive\n'],
    ['sinceTime=2031-01-01T00:00:04Z', '\nfive\n'],
    ['sinceSeconds=4', 'two parts\nthree\n\nfive\n'],
    ['sinceTime=2031-01-01T01:00:05%2B01:00', 'five\n'],
    ['limitBytes=7', 'one\ntwo'],
    ['tailLines=1&timestamps=true', '2031-01-01T00:00:05.123456789Z five\n'],
  ])('with %s is %j', async (text, expected) => {
    expect(await read(query(text))).toBe(expected);
  });

  test.each(['tailLines=-1', 'limitBytes=x', 'sinceTime=yesterday'])('refuses %s', (text) => {
    expect(typeof logOptions(new URLSearchParams(text), 0)).toBe('string');
  });

  test('skips lines in another format, and shows one that was cut off', async () => {
    writeFileSync(file('2'), `nonsense\n${line('whole')}2031-01-01T00:00:09.1Z stdout F cut o`);
    expect(await read({ tailLines: 2 })).toBe('whole\ncut o\n');
  });

  test('is followed across rotations, without losing or repeating a line', async () => {
    const stop = new AbortController();
    const active = file('active');
    writeFileSync(active, '');
    log = { files: [active], complete: false };
    let text = '';
    const reading = (async () => {
      const options = { follow: true, timestamps: false };
      for await (const part of readLog(async () => log, options, stop.signal)) text += part.toString();
    })();
    appendFileSync(active, line('begin'));
    await vi.waitFor(() => expect(text).toBe('begin\n'), { timeout: 5_000, interval: 5 });
    const expected: string[] = [];
    for (let at = 0; at < 200; at++) {
      appendFileSync(active, line(`line ${at}`));
      expected.push(`line ${at}\n`);
      if (at % 50 === 49) {
        const old = file(`old-${at}`);
        renameSync(active, old);
        writeFileSync(active, '');
        log = { files: [...log.files.slice(0, -1), old, active], complete: false };
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    }
    appendFileSync(active, line('the end'));
    log = { ...log, complete: true };
    await reading;
    expect(text).toBe(`begin\n${expected.join('')}the end\n`);
    stop.abort();
  });

  test('that is followed ends with its reader', async () => {
    log = { ...log, complete: false };
    const stop = new AbortController();
    const reading = read({ follow: true }, stop.signal);
    stop.abort();
    await reading;
  });
});
