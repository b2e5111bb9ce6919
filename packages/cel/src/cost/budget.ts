/** The limit on the estimated cost of one rule of a CRD, and of all its rules together. */
export const COST_PER_RULE = 10_000_000;
export const COST_PER_DEFINITION = 100_000_000;
/** The cost limit of all evaluations for one object. */
export const COST_PER_OBJECT = 10_000_000;

/** Kubernetes' message about how far an estimate exceeds its limit; `what` names the estimate, such as `estimated rule cost`. */
export function overBudgetMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const advice = 'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${what} exceeds budget by factor of ${shown} (${advice})`;
}
