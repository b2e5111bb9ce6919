import { describe, expect, test } from 'vitest';
import { cleanLine } from './clean-line.ts';
import { LogBuffer } from './log-buffer.ts';
import { podLogPath, stepLogPath, taskLogPath } from './paths.ts';
import { matchesIn, partsOf } from './search.ts';

describe('a line of output', () => {
  test.each([
    ['colours', '\u001b[1;31merror\u001b[0m: no', 'error: no'],
    ['cursor movements', 'a\u001b[2Kb\u001b[1;1Hc', 'abc'],
    ['a title of the window', '\u001b]0;owned\u0007text', 'text'],
    ['a link', '\u001b]8;;https://example.com\u001b\\here\u001b]8;;\u001b\\', 'here'],
    ['a title that never ends', '\u001b]0;rest', ''],
    ['eight-bit sequences', '\u009b31mred', 'red'],
    ['bells and nulls', 'a\u0007\u0000b', 'ab'],
    ['marks that turn text around', 'a\u202eb', 'ab'],
    ['a progress bar', ' 1%\r 50%\r100%', '100%'],
    ['the end of a line of Windows', 'text\r', 'text'],
    ['tabs', 'a\tb', 'a\tb'],
  ])('loses %s', (_what, line, text) => expect(cleanLine(line)).toBe(text));

  test('keeps markup as text', () => expect(cleanLine('<script>alert(1)</script>')).toBe('<script>alert(1)</script>'));
});

describe('a buffer', () => {
  test('separates the time from the text', () => {
    const buffer = new LogBuffer();
    buffer.append(['2026-01-01T00:00:00.123456789Z hello', 'no time']);
    expect(buffer.lines()).toEqual([
      { number: 1, time: '2026-01-01T00:00:00.123456789Z', text: 'hello' },
      { number: 2, time: '', text: 'no time' },
    ]);
  });

  test('keeps the newest lines', () => {
    const buffer = new LogBuffer(10);
    buffer.append(Array.from({ length: 25 }, (_, index) => `line ${index + 1}`));
    expect(buffer.lines().map(({ number }) => number)).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);
    expect(buffer.dropped).toBe(15);
  });
});

describe('a stream that begins again', () => {
  test('adds only the lines that are newer', () => {
    const buffer = new LogBuffer();
    buffer.append(['2026-01-01T00:00:00Z a', '2026-01-01T00:00:00.5Z b']);
    const after = buffer.lastTime;
    buffer.append(['2026-01-01T00:00:00Z a', '2026-01-01T00:00:00.500000000Z b', '2026-01-01T00:00:00.51Z c'], after);
    buffer.append(['2026-01-01T00:00:00.51Z of the same time'], after);
    expect(buffer.lines().map(({ text }) => text)).toEqual(['a', 'b', 'c', 'of the same time']);
  });
});

describe('a search', () => {
  const lines = ['Loss 0.3', 'step 2', 'loss: LOSS'].map((text, number) => ({ number, time: '', text }));
  test('finds lines in any case', () => expect(matchesIn(lines, 'loss')).toEqual([0, 2]));
  test('for nothing finds nothing', () => expect(matchesIn(lines, '')).toEqual([]));
  test('marks every occurrence', () => {
    expect(partsOf('loss: LOSS!', 'loss')).toEqual([
      { text: 'loss', isFound: true },
      { text: ': ', isFound: false },
      { text: 'LOSS', isFound: true },
      { text: '!', isFound: false },
    ]);
  });
  test('treats the query as text', () => expect(partsOf('a.b', '.').filter(({ isFound }) => isFound)).toHaveLength(1));
});

describe('the address of an output', () => {
  const place = { workspace: 'root:main', namespace: 'default', name: 'one' };
  const pod = { ...place, container: 'unit', previous: false };
  test.each([
    ['of a Pod', podLogPath(pod, ''), '/api/v1/namespaces/default/pods/one/log?container=unit&timestamps=true&follow=true&tailLines=5000'],
    [
      'of a Pod since a time',
      podLogPath(pod, '2026-01-01T00:00:00.5Z'),
      '/api/v1/namespaces/default/pods/one/log?container=unit&timestamps=true&follow=true&sinceTime=2026-01-01T00%3A00%3A00Z',
    ],
    [
      'of a Pod before its last restart',
      podLogPath({ ...pod, previous: true }, ''),
      '/api/v1/namespaces/default/pods/one/log?container=unit&timestamps=true&previous=true&tailLines=5000',
    ],
    [
      'of a step',
      stepLogPath({ ...place, step: 'start-n1' }),
      '/apis/apps.capstan.dev/v1alpha1/namespaces/default/appoperations/one/log?step=start-n1&follow=true&tailLines=5000',
    ],
  ])('%s', (_what, path, expected) => expect(path).toBe(`/clusters/root:main${expected}`));

  test('of a task is in the workspace of the platform', () => {
    expect(taskLogPath({ node: 'n1', task: 'clean' })).toBe(
      '/clusters/root:platform/apis/fleet.capstan.dev/v1alpha1/namespaces/node-n1/nodetasks/clean/log?follow=true&tailLines=5000',
    );
  });
});
