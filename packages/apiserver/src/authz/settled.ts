import type { Attributes, Authorizer, Decision, Gate } from './attributes.ts';

/** More questions than anybody asks one after the other. */
const mostRounds = 1000;

const notYet: Decision = { allowed: false, reason: '' };

/**
 * Does work that needs its decisions at once, behind a gate that may take time: what could not be decided at once is found out, and the work is done again
 * with what is known then. So it must change nothing. Done once, and at once, when nothing takes time.
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
