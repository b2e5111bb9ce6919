import type { Call } from '../syntax/ast.ts';
import { isError, noSuchOverload, type Value } from '../value/value.ts';
import { isDiscounted } from './attribute.ts';
import type { Compiler } from './compile.ts';
import type { Step } from './run.ts';

/** `&&` and `||` over any number of terms. The first deciding term wins, even after an error; otherwise the first error is the outcome. */
export function compileLogic(terms: readonly Step[], decisive: boolean): Step {
  if (terms.length === 2) {
    const [left, right] = terms as [Step, Step];
    return (run) => {
      const first = left(run);
      if (first === decisive) return decisive;
      const second = right(run);
      if (second === decisive) return decisive;
      if (first !== !decisive) return failure(first);
      return second === !decisive ? second : failure(second);
    };
  }
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

function failure(value: Value): Value {
  return isError(value) ? value : noSuchOverload;
}

export function compileConditional(compiler: Compiler, expression: Call): Step {
  const [conditionExpression, trueExpression, falseExpression] = expression.args as [Call, Call, Call];
  const condition = compiler.compile(conditionExpression);
  const whenTrue = compiler.compile(trueExpression);
  const whenFalse = compiler.compile(falseExpression);
  const trueDiscount = isDiscounted(trueExpression) ? -1 : 0;
  const falseDiscount = isDiscounted(falseExpression) ? -1 : 0;
  return (run) => {
    const decided = condition(run);
    if (decided === true) {
      run.charge(trueDiscount);
      return whenTrue(run);
    }
    if (decided === false) {
      run.charge(falseDiscount);
      return whenFalse(run);
    }
    return failure(decided);
  };
}
