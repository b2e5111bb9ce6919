import { patternSteps, spend, spendText } from '@capstan/machinery';
import { callCost } from '../cost/runtime.ts';
import { accepts, type Overload } from '../library/function.ts';
import { elementAt, entryAt } from '../library/operators.ts';
import { optionalElement } from '../library/optional.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { compareValues } from '../value/compare.ts';
import { equalValues } from '../value/equality.ts';
import { printValue } from '../value/print.ts';
import { CelError, isError, ListValue, MapValue, noSuchOverload, Optional, type Value } from '../value/value.ts';
import { isAttribute, isDiscounted } from './attribute.ts';
import type { Compiler } from './compile.ts';
import type { Run, Step } from './run.ts';

/** Compiles a function call: evaluates the arguments, chooses the matching overload, and charges the cost of the call. */
export function compileCall(compiler: Compiler, expression: Call): Step {
  const written = argumentsOf(expression);
  const args = written.map((argument) => compiler.compile(argument));
  const name = expression.qualified ?? expression.name;
  if (name === '_==_' || name === '_!=_') return compileEquality(args as [Step, Step], name === '_==_');
  const choose = chooser(expression.overloads ?? [], written);
  const quick = args.length === 2 ? quickComparison(name, args as [Step, Step]) : undefined;
  if (quick !== undefined) return quick;
  if (name === '_[_]' || name === '_[?_]') return compileIndex(args as [Step, Step], written, name === '_[?_]');
  if (patternFunctions.has(name)) args.push(...withPatternSteps(args.splice(0), written));
  return compileArguments(args, choose, { cost: callCost(name), id: expression.overloads?.[0]?.id ?? '' });
}

const patternFunctions: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

/** Literal patterns were compiled with the expression. Others count every time, so that the outcome does not depend on what is cached. */
function withPatternSteps(args: readonly Step[], written: readonly Expression[]): Step[] {
  return args.map((argument, index) => {
    if (index !== 1 || written[index]!.kind === 'literal') return argument;
    return (run) => {
      const pattern = argument(run);
      if (typeof pattern === 'string') spend(patternSteps(pattern));
      return pattern;
    };
  });
}

function argumentsOf(expression: Call): readonly Expression[] {
  const isMethod = expression.target !== undefined && expression.qualified === undefined;
  return isMethod ? [expression.target, ...expression.args] : expression.args;
}

type Chooser = (values: readonly Value[]) => Overload | undefined;
type Cost = ReturnType<typeof callCost>;

function chooser(overloads: readonly Overload[], written: readonly Expression[]): Chooser {
  const [only] = overloads;
  const isCertain = overloads.length === 1 && written.every(({ type }) => type !== undefined && isKnown(type.kind));
  if (only !== undefined && isCertain) return () => only;
  return (values) => overloads.find((overload) => overload.parameters.every((parameter, index) => accepts(parameter, values[index]!)));
}

function isKnown(kind: string): boolean {
  return kind !== 'dyn' && kind !== 'error' && kind !== 'parameter' && kind !== 'null';
}

function finish(run: Run, chosen: Overload | undefined, values: Value[], cost: Cost): Value {
  if (chosen === undefined) {
    run.charge(1);
    return noSuchOverload;
  }
  for (const value of values) spendArgument(value);
  const result = chosen.call(...values);
  if (typeof result === 'string') spendText(result.length);
  run.charge(cost === undefined ? 1 : cost(values, chosen.id, result));
  return result;
}

/** Functions read their arguments, whatever the call costs in Kubernetes. */
function spendArgument(value: Value): void {
  if (typeof value === 'string' || value instanceof Uint8Array) spendText(value.length);
  else if (value instanceof ListValue) spend(value.size);
}

/** Evaluates all arguments, even after an error; a call that fails this way is charged all the same. */
function compileArguments(args: readonly Step[], choose: Chooser, { cost, id }: { cost: Cost; id: string }): Step {
  return (run) => {
    const values: Value[] = [];
    let failed: CelError | undefined;
    for (const argument of args) {
      const value = argument(run);
      if (isError(value)) failed ??= value;
      values.push(value);
    }
    if (failed === undefined) return finish(run, choose(values), values, cost);
    run.charge(cost === undefined ? 1 : cost(values, id, failed));
    return failed;
  };
}

function compileEquality([left, right]: [Step, Step], isEqual: boolean): Step {
  const cost = callCost(isEqual ? '_==_' : '_!=_')!;
  const id = isEqual ? 'equals' : 'not_equals';
  return (run) => {
    const one = left(run);
    const other = right(run);
    const equal = equalValues(one, other);
    run.charge(typeof one === 'number' && typeof other === 'number' ? 1 : cost([one, other], id, equal));
    return typeof equal === 'boolean' ? equal === isEqual : equal;
  };
}

const tests = new Map<string, (order: number) => boolean>([
  ['_<_', (order) => order < 0],
  ['_<=_', (order) => order <= 0],
  ['_>_', (order) => order > 0],
  ['_>=_', (order) => order >= 0],
]);

/** Comparisons need no overload: the values themselves determine whether they are comparable. */
function quickComparison(name: string, [left, right]: [Step, Step]): Step | undefined {
  const test = tests.get(name);
  if (test === undefined) return undefined;
  const cost = callCost(name)!;
  return (run) => {
    const one = left(run);
    const other = right(run);
    if (typeof one === 'number' && typeof other === 'number') {
      run.charge(1);
      return test(one - other);
    }
    const order = compareValues(one, other);
    run.charge(cost([one, other], name, true));
    return order instanceof CelError ? order : test(order);
  };
}

/** An index costs one; a plain name inside the brackets adds nothing. */
function compileIndex([container, index]: [Step, Step], written: readonly Expression[], isOptional: boolean): Step {
  const cost = (isAttribute(written[0]!) ? 1 : 2) - (isDiscounted(written[1]!) ? 1 : 0);
  return (run) => {
    const one = container(run);
    if (isError(one)) return one;
    const other = index(run);
    if (isError(other)) return other;
    const element = isOptional || one instanceof Optional ? optionalElement(one, other) : indexed(one, other);
    run.charge(element === Optional.none ? cost - 1 : cost);
    return element;
  };
}

function indexed(container: Value, key: Value): Value {
  if (container instanceof ListValue) return elementAt(container, key);
  return container instanceof MapValue ? entryAt(container, key) : new CelError(`no such key: ${printValue(key)}`);
}
