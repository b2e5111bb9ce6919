import type { Call } from '../syntax/ast.ts';
import { isError, noSuchOverload, type Value } from '../value/value.ts';
import { isDiscounted } from './attribute.ts';
import type { Compiler } from './compile.ts';
import { type Code, isLong, partsOf, type Run, type Step } from './run.ts';

/** `&&` and `||` over any number of terms. The first deciding term wins, even after an error; otherwise the first error is the outcome. */
export function compileLogic(terms: readonly Code[], decisive: boolean): Code {
  const steps = terms.map(({ step }) => step);
  return {
    step: steps.length === 2 ? pair(steps as [Step, Step], decisive) : chain(steps, decisive),
    inParts: chainInParts(terms, decisive),
  };
}

function pair([left, right]: readonly [Step, Step], decisive: boolean): Step {
  return (run) => {
    const first = left(run);
    if (first === decisive) return decisive;
    const second = right(run);
    if (second === decisive) return decisive;
    if (first !== !decisive) return failure(first);
    return second === !decisive ? second : failure(second);
  };
}

function chain(terms: readonly Step[], decisive: boolean): Step {
  return (run) => {
    let failed: Value | undefined;
    for (const term of terms) {
      const value = term(run);
      if (value === decisive) return decisive;
      if (value !== !decisive) failed ??= failure(value);
    }
    return failed ?? !decisive;
  };
}

function chainInParts(terms: readonly Code[], decisive: boolean): Code['inParts'] {
  if (!terms.some(isLong)) return undefined;
  return function* (run) {
    let failed: Value | undefined;
    for (const term of terms) {
      const value = yield* partsOf(term, run);
      if (value === decisive) return decisive;
      if (value !== !decisive) failed ??= failure(value);
    }
    return failed ?? !decisive;
  };
}

function failure(value: Value): Value {
  return isError(value) ? value : noSuchOverload;
}

export function compileConditional(compiler: Compiler, expression: Call): Code {
  const [conditionExpression, trueExpression, falseExpression] = expression.args as [Call, Call, Call];
  const condition = compiler.compile(conditionExpression);
  const whenTrue = compiler.compile(trueExpression);
  const whenFalse = compiler.compile(falseExpression);
  const trueDiscount = isDiscounted(trueExpression) ? -1 : 0;
  const falseDiscount = isDiscounted(falseExpression) ? -1 : 0;
  /** The branch to evaluate; undefined if the condition is an error. */
  const choose = (run: Run, decided: Value): Code | undefined => {
    if (typeof decided !== 'boolean') return undefined;
    run.charge(decided ? trueDiscount : falseDiscount);
    return decided ? whenTrue : whenFalse;
  };
  return {
    step(run) {
      const decided = condition.step(run);
      const branch = choose(run, decided);
      return branch === undefined ? failure(decided) : branch.step(run);
    },
    inParts: [condition, whenTrue, whenFalse].some(isLong)
      ? function* (run) {
          const decided = yield* partsOf(condition, run);
          const branch = choose(run, decided);
          return branch === undefined ? failure(decided) : yield* partsOf(branch, run);
        }
      : undefined,
  };
}
