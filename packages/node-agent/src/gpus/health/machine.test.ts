import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Paces, type Phase, type Position, phases, type Signal, signals, step, transitions } from './machine.ts';

const paces: Paces = { recovery: { observations: 3, milliseconds: 60 }, silence: { observations: 2, milliseconds: 30 } };
const badness: Readonly<Record<Phase, number>> = { New: 0, Healthy: 0, Unknown: 1, Degraded: 2, Failed: 3, Missing: 3 };
const history = fc.array(fc.record({ signal: fc.constantFrom(...signals), wait: fc.integer({ min: 1, max: 50 }) }), { maxLength: 60 });

function run(
  events: readonly { signal: Signal; wait: number }[],
  start: Phase = 'New',
): { signal: Signal; at: number; position: Position }[] {
  let position: Position = { phase: start, since: 0 };
  let at = 0;
  return events.map(({ signal, wait }) => {
    at += wait;
    position = step(position, { signal, at }, paces);
    return { signal, at, position };
  });
}

describe('the health of a card', () => {
  test('has a rule for every phase and signal', () => {
    for (const phase of phases) expect(Object.keys(transitions[phase]).sort()).toEqual([...signals].sort());
  });

  test('turns bad at once', () => {
    fc.assert(
      fc.property(history, (events) => {
        for (const { signal, position } of run(events)) {
          if (signal === 'failed') expect(position.phase).toBe('Failed');
          if (signal === 'missing') expect(position.phase).toBe('Missing');
        }
      }),
    );
  });

  test('turns better only after the better news has lasted', () => {
    fc.assert(
      fc.property(history, (events) => {
        const steps = run(events);
        for (const [index, { position, at, signal }] of steps.entries()) {
          const before = steps[index - 1]?.position.phase ?? 'New';
          if (badness[position.phase] >= badness[before]) continue;
          const streak = steps.slice(0, index + 1).reverse();
          const length = streak.findIndex((one) => one.signal !== signal);
          const agreeing = length === -1 ? streak : streak.slice(0, length);
          if (signal === 'silent') {
            expect([before, position.phase]).toEqual(['Degraded', 'Unknown']);
            continue;
          }
          expect(agreeing.length).toBeGreaterThanOrEqual(paces.recovery.observations);
          expect(at - agreeing.at(-1)!.at).toBeGreaterThanOrEqual(paces.recovery.milliseconds);
        }
      }),
    );
  });

  test('does not change by silence, except to Unknown', () => {
    fc.assert(
      fc.property(history, (events) => {
        const steps = run(events);
        for (const [index, { signal, position }] of steps.entries()) {
          const before = steps[index - 1]?.position.phase ?? 'New';
          if (signal === 'silent') expect([before, 'Unknown']).toContain(position.phase);
          if (signal === 'silent' && (before === 'Failed' || before === 'Missing')) expect(position.phase).toBe(before);
        }
      }),
    );
  });

  test('remembers since when', () => {
    fc.assert(
      fc.property(history, (events) => {
        const steps = run(events);
        for (const [index, { at, position }] of steps.entries()) {
          const before = steps[index - 1]?.position ?? { phase: 'New', since: 0 };
          expect(position.since).toBe(position.phase === before.phase ? before.since : at);
        }
      }),
    );
  });

  test('always heals in the end', () => {
    const lasting = Array.from({ length: 4 }, () => ({ signal: 'ok' as const, wait: 30 }));
    fc.assert(fc.property(history, (events) => run([...events, ...lasting]).at(-1)!.position.phase === 'Healthy'));
  });

  test('does not flap', () => {
    const flapping = Array.from({ length: 40 }, (_, index) => ({
      signal: index % 3 === 0 ? ('failed' as const) : ('ok' as const),
      wait: 25,
    }));
    expect(new Set(run(flapping).map(({ position }) => position.phase))).toEqual(new Set(['Failed']));
  });
});
