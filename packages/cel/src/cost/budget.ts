/** The most that a rule of a custom resource definition may be estimated to cost, and all rules of one together. */
export const COST_PER_RULE = 10_000_000;
export const COST_PER_DEFINITION = 100_000_000;
/** What all evaluations for one object may cost together. */
export const COST_PER_OBJECT = 10_000_000;

/** How far an estimate is beyond its limit, as Kubernetes says it; `what` is the estimate's name, such as `estimated rule cost`. */
export function overBudgetMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  const advice = 'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${what} exceeds budget by factor of ${shown} (${advice})`;
}
