import type { Parts } from '@capstan/machinery';
import type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';

/** More consecutive decisions than any work needs. */
const mostRounds = 1000;

const notYet: Decision = { allowed: false, reason: '' };

/**
 * Runs work that needs synchronous decisions behind a gate that may be asynchronous: pending decisions are awaited, then the work runs
 * again with their results. The work must therefore have no side effects. It runs once, synchronously, if no decision is pending.
 */
export function settled<Result>(gate: Gate, work: (authorizer: Authorizer) => Result): Result | Promise<Result> {
  const decisions = new Decisions(gate);
  const attempt = (round: number): Result | Promise<Result> => {
    let outcome: { readonly result: Result } | { readonly error: unknown };
    try {
      outcome = { result: work(decisions) };
    } catch (error) {
      outcome = { error };
    }
    const waiting = round < mostRounds ? decisions.pending() : undefined;
    if (waiting !== undefined) return waiting.then(() => attempt(round + 1));
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  };
  return attempt(1);
}

/** The same for work in parts, which `run` does. */
export async function settledInParts<Result>(
  gate: Gate,
  run: (parts: Parts<Result>) => Promise<Result>,
  work: (authorizer: Authorizer) => Parts<Result>,
): Promise<Result> {
  const decisions = new Decisions(gate);
  for (let round = 1; ; round++) {
    const [outcome] = await Promise.allSettled([run(work(decisions))]);
    const waiting = round < mostRounds ? decisions.pending() : undefined;
    if (waiting !== undefined) await waiting;
    else if (outcome.status === 'rejected') throw outcome.reason;
    else return outcome.value;
  }
}

/** Decisions that are known, and those that somebody has asked for. */
class Decisions implements Authorizer {
  readonly #gate: Gate;
  readonly #known = new Map<string, Decision>();
  #open: Promise<void>[] = [];

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  authorize(attributes: Attributes): Decision {
    const known = this.#known.size === 0 ? undefined : this.#known.get(keyOf(attributes));
    if (known !== undefined) return known;
    const decision = this.#gate.authorize(attributes);
    if (!(decision instanceof Promise)) return decision;
    this.#open.push(decision.then((found) => void this.#known.set(keyOf(attributes), found)));
    return notYet;
  }

  /** Resolves when all decisions are known that somebody has asked for; undefined if they are. */
  pending(): Promise<unknown> | undefined {
    if (this.#open.length === 0) return undefined;
    const open = this.#open;
    this.#open = [];
    return Promise.all(open);
  }
}

const keyOf = (attributes: Attributes): string => JSON.stringify(attributes);
