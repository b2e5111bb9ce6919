import { type CompiledExpression, compileExpression, Variables } from '@capstan/kinds';
import { type Parts, whole } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { meets } from './conditions.ts';
import { costOfValidations, type Evaluated, Evaluation, OutOfBudget } from './evaluation.ts';

const object = { items: Array.from({ length: 400 }, (_, index) => index) };
const known = { params: false, authorizer: false };

function variablesOf(expressions: Readonly<Record<string, string>>): Variables {
  return Variables.of(
    Object.entries(expressions).map(([name, expression]) => ({ name, expression })),
    known,
  );
}

function evaluationOf(
  variables: Variables,
  budget = costOfValidations,
): { evaluation: Evaluation; readonly compiled: (source: string) => CompiledExpression } {
  const declarations = variables.declarations();
  return {
    evaluation: new Evaluation({ object }, variables.compiled, budget),
    compiled: (source) => compileExpression(source, declarations, []),
  };
}

function counted<Result>(work: Parts<Result>): { readonly parts: number; readonly result: Result } {
  for (let parts = 1; ; parts++) {
    const part = work.next();
    if (part.done) return { parts, result: part.value };
  }
}

const long = 'object.items.all(a, object.items.all(b, a != b || a == b))';
const none = variablesOf({});

describe('a long expression is evaluated in parts', () => {
  test('by itself', () => {
    const { evaluation, compiled } = evaluationOf(none);
    expect(evaluation.attempt(compiled(long))).toBeUndefined();
    const { parts, result } = counted(evaluation.evaluate(compiled(`${long} || true`)));
    expect(result).toEqual({ value: true });
    expect(parts).toBeGreaterThan(3);
  });

  test('in a variable that another one needs', () => {
    const variables = variablesOf({ a: long, b: 'variables.a ? 1 : 2', c: 'variables.b + variables.b' });
    const { evaluation, compiled } = evaluationOf(variables);
    const { parts, result } = counted(evaluation.evaluate(compiled('variables.c == 2')));
    expect(result).toEqual({ value: true });
    expect(parts).toBeGreaterThan(3);
    // The variables are known now.
    expect(evaluation.attempt(compiled('variables.c == 2 && variables.a'))).toEqual({ value: true });
  });

  test('as a condition', () => {
    const { evaluation, compiled } = evaluationOf(none);
    const { parts, result } = counted(meets([compiled('true'), compiled(long)], evaluation));
    expect(result).toEqual({ met: true });
    expect(parts).toBeGreaterThan(3);
  });

  test('and many variables', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 3000 }, (_, index) => [`v${index}`, index === 0 ? '1' : `variables.v${index - 1} + 1`]),
    );
    const { evaluation, compiled } = evaluationOf(variablesOf(chain));
    expect(evaluation.attempt(compiled('variables.v2999 == 3000'))).toBeUndefined();
    const { parts, result } = counted(evaluation.evaluate(compiled('variables.v2999 == 3000')));
    expect(result).toEqual({ value: true });
    expect(parts).toBeGreaterThan(20);
  });
});

test('short expressions and variables are evaluated at once', () => {
  const { evaluation, compiled } = evaluationOf(variablesOf({ a: 'object.items.size()', b: 'variables.a + 1' }));
  expect(evaluation.attempt(compiled('variables.b == 401 && variables.a == 400'))).toEqual({ value: true });
});

describe('errors of variables are those of their expressions', () => {
  test.each([
    ['variables.bad == 1', 'composited variable "bad" fails to compile: '],
    ['variables.wrong == 1', 'composited variable "wrong" fails to evaluate: no such key: missing'],
    [`${long} && variables.wrong == 1`, 'composited variable "wrong" fails to evaluate: no such key: missing'],
    [`${long} && variables.bad == 1`, 'composited variable "bad" fails to compile: '],
    [`object.items.map(a, a)[0] == 0 && ${long} && object.missing`, 'resulted in error: no such key: missing'],
  ])('%s', (source, error) => {
    const { evaluation, compiled } = evaluationOf(variablesOf({ bad: '1 +', wrong: 'object.missing' }));
    expect(whole(evaluation.evaluate(compiled(source))).error).toContain(error);
  });
});

/** The least budget with which these expressions can be evaluated. */
function leastBudget(evaluate: (evaluation: Evaluation, expression: CompiledExpression) => Evaluated | undefined): number {
  const variables = variablesOf({ a: 'object.items.all(a, a >= 0)', b: `variables.a && ${long}` });
  let [low, high] = [0, costOfValidations];
  while (low < high) {
    const budget = Math.floor((low + high) / 2);
    const { evaluation, compiled } = evaluationOf(variables, budget);
    try {
      evaluate(evaluation, compiled('variables.a'));
      evaluate(evaluation, compiled('variables.b && variables.a && 1 in object.items'));
      high = budget;
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
      low = budget + 1;
    }
  }
  return low;
}

test('attempts that are left cost nothing', () => {
  const inParts = leastBudget((evaluation, expression) => whole(evaluation.inParts(expression)));
  expect(leastBudget((evaluation, expression) => whole(evaluation.evaluate(expression)))).toBe(inParts);
  expect(inParts).toBeGreaterThan(100_000);
});
