import type { GpuHealthState } from '@capstan/api';

/** The states of the machine: those of the API, and one for a card of which nothing has been heard since the agent started. */
export const phases = ['New', 'Healthy', 'Degraded', 'Failed', 'Missing', 'Unknown'] as const;
export type Phase = (typeof phases)[number];

/** All that is known about a card at one moment, in one word. `silent`: the tools gave no answer. */
export const signals = ['ok', 'degraded', 'failed', 'missing', 'silent'] as const;
export type Signal = (typeof signals)[number];

/** `now`, or only after the signal has lasted: the pace says for how long. */
type Rule = { readonly to: Phase; readonly pace: 'now' | 'recovery' | 'silence' };

const stay = undefined;
const now = (to: Phase): Rule => ({ to, pace: 'now' });
const recovery = (to: Phase): Rule => ({ to, pace: 'recovery' });
const silence: Rule = { to: 'Unknown', pace: 'silence' };

/**
 * Bad news counts at once, good news when it has lasted. Silence makes nothing better: a card that was condemned or is missing stays so until it is seen to be well.
 */
export const transitions: Readonly<Record<Phase, Readonly<Record<Signal, Rule | undefined>>>> = {
  New: { ok: now('Healthy'), degraded: now('Degraded'), failed: now('Failed'), missing: now('Missing'), silent: stay },
  Healthy: { ok: stay, degraded: now('Degraded'), failed: now('Failed'), missing: now('Missing'), silent: silence },
  Degraded: { ok: recovery('Healthy'), degraded: stay, failed: now('Failed'), missing: now('Missing'), silent: silence },
  Failed: { ok: recovery('Healthy'), degraded: recovery('Degraded'), failed: stay, missing: now('Missing'), silent: stay },
  Missing: { ok: recovery('Healthy'), degraded: recovery('Degraded'), failed: now('Failed'), missing: stay, silent: stay },
  Unknown: { ok: recovery('Healthy'), degraded: now('Degraded'), failed: now('Failed'), missing: now('Missing'), silent: stay },
};

export interface Pace {
  /** The number of observations in a row that agree. */
  readonly observations: number;
  /** The time between the first and the last of them, in milliseconds. */
  readonly milliseconds: number;
}

export interface Paces {
  readonly recovery: Pace;
  readonly silence: Pace;
}

export const defaultPaces: Paces = {
  recovery: { observations: 3, milliseconds: 60_000 },
  silence: { observations: 2, milliseconds: 30_000 },
};

export interface Position {
  readonly phase: Phase;
  /** When the phase was entered. */
  readonly since: number;
  /** A change that has been announced and must last. */
  readonly pending?: { readonly to: Phase; readonly since: number; readonly observations: number };
}

export function step(position: Position, { signal, at }: { signal: Signal; at: number }, paces: Paces = defaultPaces): Position {
  const { phase, since, pending } = position;
  const rule = transitions[phase][signal];
  if (rule === undefined) return { phase, since };
  if (rule.pace === 'now') return { phase: rule.to, since: at };
  const begun =
    pending?.to === rule.to ? { ...pending, observations: pending.observations + 1 } : { to: rule.to, since: at, observations: 1 };
  const pace = paces[rule.pace];
  const hasLasted = begun.observations >= pace.observations && at - begun.since >= pace.milliseconds;
  return hasLasted ? { phase: rule.to, since: at } : { phase, since, pending: begun };
}

export function stateOf(phase: Phase): GpuHealthState {
  return phase === 'New' ? 'Unknown' : phase;
}
