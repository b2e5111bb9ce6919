import type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';

/** More consecutive decisions than any work needs. */
const mostRounds = 1000;

const notYet: Decision = { allowed: false, reason: '' };

/**
 * Runs work that needs synchronous decisions behind a gate that may be asynchronous: pending decisions are awaited, then the work runs
 * again with their results. The work must therefore have no side effects. It runs once, synchronously, if no decision is pending.
 */
export function settled<Result>(gate: Gate, work: (authorizer: Authorizer) => Result): Result | Promise<Result> {
  const decisions = new Map<string, Decision>();
  let open: Promise<void>[] = [];
  const authorizer: Authorizer = {
    authorize(attributes) {
      const known = decisions.size === 0 ? undefined : decisions.get(keyOf(attributes));
      if (known !== undefined) return known;
      const decision = gate.authorize(attributes);
      if (!(decision instanceof Promise)) return decision;
      open.push(decision.then((found) => void decisions.set(keyOf(attributes), found)));
      return notYet;
    },
  };
  const attempt = (round: number): Result | Promise<Result> => {
    let outcome: { readonly result: Result } | { readonly error: unknown };
    try {
      outcome = { result: work(authorizer) };
    } catch (error) {
      outcome = { error };
    }
    if (open.length > 0 && round < mostRounds) {
      const waiting = open;
      open = [];
      return Promise.all(waiting).then(() => attempt(round + 1));
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  };
  return attempt(1);
}

const keyOf = (attributes: Attributes): string => JSON.stringify(attributes);
