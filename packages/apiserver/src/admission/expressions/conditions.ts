import type { Known } from '@capstan/kinds';
import { type CompiledExpression, compileExpression, condition, Variables } from '@capstan/kinds';
import { itemsOf, type Parts, status, textOf } from '@capstan/machinery';
import { type Evaluation, OutOfBudget } from './evaluation.ts';

/** Compiles the `matchConditions` of a webhook or policy. */
export function conditionsOf(value: unknown, known: Known | Variables): readonly CompiledExpression[] {
  const items = itemsOf(value);
  if (items.length === 0) return [];
  const declarations = (known instanceof Variables ? known : new Variables(known)).declarations();
  return items.map((item) => compileExpression(textOf(item['expression']), declarations, condition));
}

export type Met = { readonly met: boolean; readonly error?: undefined } | { readonly error: string };

/**
 * Whether all conditions hold. A condition that is false decides, whatever the others return. An error in a condition counts only if none
 * is false.
 */
export function* meets(conditions: readonly CompiledExpression[], evaluation: Evaluation): Parts<Met> {
  const errors: string[] = [];
  try {
    for (const condition of conditions) {
      const result = evaluation.attempt(condition) ?? (yield* evaluation.inParts(condition));
      if (evaluation.endsPart()) yield;
      if (result.error !== undefined) errors.push(result.error);
      else if (result.value === false) return { met: false };
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return { error: error.message };
    throw error;
  }
  return errors.length === 0 ? { met: true } : { error: status.aggregate(errors) };
}
