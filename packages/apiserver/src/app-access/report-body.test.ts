import { StatusError } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { parseReport } from './report-body.ts';

function refusal(type: 'phase' | 'health', text: string): readonly [number, readonly string[]] | undefined {
  try {
    parseReport(type, text);
    return undefined;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [error.code, (error.status.details?.causes ?? []).map(({ field = '' }) => field).sort()];
  }
}

const long = (length: number): string => 'x'.repeat(length);

describe('a report on an instance', () => {
  test.each([
    ['no phase', {}, ['phase']],
    ['an empty phase', { phase: '' }, ['phase']],
    ['a phase of two words', { phase: 'a b' }, ['phase']],
    ['a number as its phase', { phase: 7 }, ['phase']],
    ['half a progress', { phase: 'a', progress: { completed: -1 } }, ['progress.completed', 'progress.total']],
    ['more done than there is', { phase: 'a', progress: { completed: 6, total: 5 } }, ['progress.completed']],
    ['a field that nobody knows', { phase: 'a', state: 'running' }, ['state']],
    ['a long message', { phase: 'a', message: long(1025) }, ['message']],
  ])('with %s is refused', (_, body, fields) => {
    expect(refusal('phase', JSON.stringify(body))).toEqual([422, fields]);
  });

  test.each(['[]', 'null', 'no', ''])('that is %j is refused', (text) => {
    expect(refusal('phase', text)).toEqual([400, []]);
  });

  test('with everything is accepted', () => {
    const body = { phase: 'server_bootstrapping', progress: { completed: 2, total: 5 }, message: 'two of five' };
    expect(parseReport('phase', JSON.stringify(body))).toEqual(body);
  });
});

describe('a report on a member', () => {
  test.each([
    ['no health', {}, ['healthy']],
    ['a word as its health', { healthy: 'yes' }, ['healthy']],
    ['a list as its detail', { healthy: true, detail: [] }, ['detail']],
    ['a large detail', { healthy: true, detail: { a: long(5_000) } }, ['detail']],
    ['a phase', { healthy: true, phase: 'a' }, ['phase']],
  ])('with %s is refused', (_, body, fields) => {
    expect(refusal('health', JSON.stringify(body))).toEqual([422, fields]);
  });

  test('with any detail is accepted', () => {
    const body = { healthy: false, detail: { role: 'server', disks: [{ full: true }] } };
    expect(parseReport('health', JSON.stringify(body))).toEqual(body);
  });
});
