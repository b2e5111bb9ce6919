const LIMIT = 250;

type Rule = 'expression' | 'relation' | 'sum' | 'member';

export class RecursionLimit extends Error {}

/**
 * Counts how deep each kind of nesting goes, chains of one operator included, and stops at cel-go's limit. This is what bounds the depth of
 * the tree, and with it the stack that the checker, the estimate and the evaluator need.
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
