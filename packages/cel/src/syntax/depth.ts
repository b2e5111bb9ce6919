const LIMIT = 250;

type Rule = 'expression' | 'relation' | 'sum' | 'member';

export class RecursionLimit extends Error {}

/**
 * Counts the nesting depth per grammar rule, including chains of one operator, and stops at cel-go's limit. This bounds the depth of the
 * tree, and with it the stack used by the checker, the estimate and the evaluator.
 */
export class DepthGuard {
  readonly #depths: Record<Rule, number> = { expression: 0, relation: 0, sum: 0, member: 0 };

  enter(rule: Rule): void {
    if (++this.#depths[rule] > LIMIT) throw new RecursionLimit(`expression recursion limit exceeded: ${LIMIT}`);
  }

  leave(rule: Rule, levels = 1): void {
    this.#depths[rule] -= levels;
  }
}
