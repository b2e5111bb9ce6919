import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accuse, type Evaluated, markerFile, printHeld, Quarantine, readMarker } from './quarantine.ts';

let directory: string;
let lines: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-quarantine-'));
  lines = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (time = '2026-01-01T00:00:00Z'): Quarantine =>
  Quarantine.open(directory, { now: () => new Date(time), log: (line) => void lines.push(line) });
/** A server that is killed disposes of nothing. */
const stopDuring = (evaluated: object): void => writeFileSync(join(directory, markerFile), `${JSON.stringify(evaluated)}\n`);
const marker = (): Evaluated | undefined => readMarker(join(directory, markerFile));
const slow = { identity: 'policy 1 1', name: 'ValidatingAdmissionPolicy "slow"' };
const other = { identity: 'policy 2 1', name: 'ValidatingAdmissionPolicy "other"' };
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('the quarantine', () => {
  it('is empty at first, and after a server that stopped between evaluations', async () => {
    {
      using quarantine = open();
      quarantine.mark(slow);
      expect(marker()).toEqual(slow);
      await nextTurn();
      expect(marker()).toBeUndefined();
    }
    using quarantine = open();
    expect(quarantine.held(slow.identity)).toBeUndefined();
    expect(lines).toEqual([]);
  });

  it('forgives a single stop, which may have been the fault of somebody else', () => {
    for (const [time, held] of [
      ['2026-01-01T00:00:00Z', false],
      ['2026-01-01T02:00:00Z', false],
      ['2026-01-01T02:59:00Z', true],
    ] as const) {
      stopDuring(slow);
      using quarantine = open(time);
      expect(quarantine.held(slow.identity) !== undefined).toBe(held);
    }
    expect(lines[0]).toBe(
      'the server stopped while it evaluated ValidatingAdmissionPolicy "slow", which is not evaluated any more if that happens again within an hour',
    );
  });

  it('holds what a hanging server evaluated, at once', () => {
    stopDuring(slow);
    expect(accuse(directory, new Date('2026-01-01T00:00:00Z'))).toBe(slow.name);
    using quarantine = open();
    expect(quarantine.held(slow.identity)).toBeDefined();
  });

  it('holds what the server evaluated when it stopped twice, across restarts, until that is changed', () => {
    stopDuring(slow);
    open()[Symbol.dispose]();
    stopDuring(slow);
    lines.length = 0;
    for (let start = 0; start < 2; start++) {
      using quarantine = open();
      expect(quarantine.held(slow.identity)).toEqual({ ...slow, since: '2026-01-01T00:00:00.000Z' });
      expect(printHeld(quarantine.held(slow.identity)!)).toContain('ValidatingAdmissionPolicy "slow" is quarantined since 2026-01-01');
      expect(quarantine.held('policy 1 2')).toBeUndefined();
      expect(quarantine.held(other.identity)).toBeUndefined();
    }
    expect(lines).toEqual([
      'the server hung, or stopped twice, while it evaluated ValidatingAdmissionPolicy "slow", which is not evaluated again until it is changed',
    ]);
  });

  it('names the last of several evaluations in one turn', () => {
    using quarantine = open();
    quarantine.mark(slow);
    quarantine.mark(other);
    expect(marker()).toEqual(other);
  });

  it('marks each part of an evaluation that lets others run', async () => {
    using quarantine = open();
    const parts = quarantine.watch(
      slow,
      (function* () {
        expect(marker()).toEqual(slow);
        yield;
        expect(marker()).toEqual(slow);
        return 'done';
      })(),
    );
    parts.next();
    await nextTurn();
    expect(marker()).toBeUndefined();
    expect(parts.next()).toEqual({ done: true, value: 'done' });
  });

  it('ignores a marker or a list that was cut short', () => {
    writeFileSync(join(directory, markerFile), '{"identity":"pol');
    writeFileSync(join(directory, 'quarantine.json'), '[{"identity"');
    using quarantine = open();
    expect(quarantine.held(slow.identity)).toBeUndefined();
  });
});
