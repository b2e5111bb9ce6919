import { beforeEach, describe, expect, it } from 'vitest';
import { Trouble } from './trouble.ts';

let log: string[];
let time: number;
let trouble: Trouble;

beforeEach(() => {
  log = [];
  time = 0;
  trouble = new Trouble({
    log: (line) => log.push(line),
    begins: (why) => `begins: ${why}`,
    lasts: (why, { reports, sources, duration }) => `lasts ${duration}: ${why}, ${reports} reports of ${sources}`,
    ends: ({ duration }) => `ends after ${duration}`,
    now: () => time,
  });
});

const lines = (): string[] => log.splice(0);

describe('trouble', () => {
  it('logs one line when it begins and one when it ends, however many sources report it', () => {
    for (let round = 0; round < 10; round++) for (let source = 0; source < 100; source++) trouble.report('refused', `${source}`);
    expect(lines()).toEqual(['begins: refused']);
    time = 12_000;
    for (let source = 0; source < 99; source++) trouble.clear(`${source}`);
    expect(lines()).toEqual([]);
    trouble.clear('99');
    expect(lines()).toEqual(['ends after 12s']);
    expect(trouble.lasts).toBe(false);
  });

  it('is repeated at growing intervals', () => {
    for (time = 0; time <= 1_800_000; time += 1_000) trouble.report('refused', 'a');
    expect(lines()).toEqual([
      'begins: refused',
      'lasts 60s: refused, 60 reports of 1',
      'lasts 3m: refused, 120 reports of 1',
      'lasts 7m: refused, 240 reports of 1',
      'lasts 15m: refused, 480 reports of 1',
      'lasts 25m: refused, 600 reports of 1',
    ]);
  });

  it('without sources ends when it is quiet', () => {
    trouble.report('once');
    time = 59_000;
    trouble.settle();
    expect(lines()).toEqual(['begins: once']);
    time = 60_000;
    trouble.settle();
    expect(lines()).toEqual(['ends after 0s']);
    trouble.report('first');
    time = 200_000;
    trouble.report('second');
    expect(lines()).toEqual(['begins: first', 'ends after 0s', 'begins: second']);
  });

  it('with sources does not end when it is quiet', () => {
    trouble.report('refused', 'a');
    time = 3_600_000;
    trouble.settle();
    expect([lines(), trouble.lasts]).toEqual([['begins: refused'], true]);
  });

  it('that did not begin is cleared silently', () => {
    trouble.clear();
    trouble.clear('a');
    expect(lines()).toEqual([]);
  });
});
