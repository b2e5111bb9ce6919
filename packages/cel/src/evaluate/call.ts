import { patternSteps, spend, spendText } from '@capstan/machinery';
import { callCost, callCostInParts } from '../cost/runtime.ts';
import { accepts, type Overload } from '../library/function.ts';
import { elementAt, entryAt } from '../library/operators.ts';
import { optionalElement } from '../library/optional.ts';
import type { Call, Expression } from '../syntax/ast.ts';
import { compareValues } from '../value/compare.ts';
import { equalInParts } from '../value/equal-in-parts.ts';
import { equalValues } from '../value/equality.ts';
import { printValue } from '../value/print.ts';
import { CelError, isError, ListValue, MapValue, noSuchOverload, Optional, type Value } from '../value/value.ts';
import { isAttribute, isDiscounted } from './attribute.ts';
import type { Compiler } from './compile.ts';
import { taskBefore } from './lazy.ts';
import { type Code, isLong, partsOf, type Run } from './run.ts';

/** Compiles a function call: evaluates the arguments, chooses the matching overload, and charges the cost of the call. */
export function compileCall(compiler: Compiler, expression: Call): Code {
  const written = argumentsOf(expression);
  const args = written.map((argument) => compiler.compile(argument));
  const name = expression.qualified ?? expression.name;
  if (name === '_==_' || name === '_!=_') {
    return compileEquality(args as [Code, Code], {
      isEqual: name === '_==_',
      mayBeLong: args.some(isLong) || written.every(mayBeContainer),
    });
  }
  const overloads = expression.overloads ?? [];
  const quick = args.length === 2 ? quickComparison(name, args as [Code, Code]) : undefined;
  if (quick !== undefined) return quick;
  if (name === '_[_]' || name === '_[?_]') {
    const mayBeLong = args.some(isLong) || compiler.mayBeLazy(written[0]!);
    return compileIndex(args as [Code, Code], written, { isOptional: name === '_[?_]', mayBeLong });
  }
  if (patternFunctions.has(name)) args.push(...withPatternSteps(args.splice(0), written));
  return compileArguments(args, chooser(overloads, written), { cost: callCost(name), costInParts: callCostInParts(name), overloads });
}

const patternFunctions: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

/** Literal patterns were compiled with the expression. Others count every time, so that the outcome does not depend on what is cached. */
function withPatternSteps(args: readonly Code[], written: readonly Expression[]): Code[] {
  return args.map((argument, index) => (index !== 1 || written[index]!.kind === 'literal' ? argument : withSteps(argument)));
}

function withSteps(pattern: Code): Code {
  const counted = (value: Value): Value => {
    if (typeof value === 'string') spend(patternSteps(value));
    return value;
  };
  return {
    step: (run) => counted(pattern.step(run)),
    inParts: isLong(pattern)
      ? function* (run) {
          return counted(yield* partsOf(pattern, run));
        }
      : undefined,
  };
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

/** Functions read their arguments, whatever the call costs in Kubernetes. */
function spendArgument(value: Value): void {
  if (typeof value === 'string' || value instanceof Uint8Array) spendText(value.length);
  else if (value instanceof ListValue) spend(value.size);
}

interface CallParts {
  readonly cost: Cost;
  readonly costInParts: ReturnType<typeof callCostInParts>;
  readonly overloads: readonly Overload[];
}

/** Evaluates all arguments, even after an error; a call that fails this way is charged all the same. */
function compileArguments(args: readonly Code[], choose: Chooser, { cost, costInParts, overloads }: CallParts): Code {
  const steps = args.map(({ step }) => step);
  const id = overloads[0]?.id ?? '';
  const charge = (run: Run, values: readonly Value[], { id, result }: { id: string; result: Value }): void => {
    if (typeof result === 'string') spendText(result.length);
    run.charge(cost === undefined ? 1 : cost(values, id, result));
  };
  const chosenFor = (run: Run, values: readonly Value[]): Overload | undefined => {
    const chosen = choose(values);
    if (chosen === undefined) run.charge(1);
    else for (const value of values) spendArgument(value);
    return chosen;
  };
  return {
    step(run) {
      const values: Value[] = [];
      let failed: CelError | undefined;
      for (const step of steps) {
        const value = step(run);
        if (isError(value)) failed ??= value;
        values.push(value);
      }
      const chosen = failed === undefined ? chosenFor(run, values) : undefined;
      if (failed === undefined && chosen === undefined) return noSuchOverload;
      const result = failed ?? chosen!.call(...values);
      charge(run, values, { id: chosen?.id ?? id, result });
      return result;
    },
    inParts:
      args.some(isLong) || overloads.some(({ inParts }) => inParts !== undefined)
        ? function* (run) {
            const values: Value[] = [];
            for (const { step, inParts } of args) values.push(inParts === undefined ? step(run) : yield* inParts(run));
            const failed = values.find(isError);
            const chosen = failed === undefined ? chosenFor(run, values) : undefined;
            if (failed === undefined && chosen === undefined) return noSuchOverload;
            const result = failed ?? (chosen!.inParts === undefined ? chosen!.call(...values) : yield* chosen!.inParts(...values));
            if (costInParts === undefined) charge(run, values, { id: chosen?.id ?? id, result });
            else {
              if (typeof result === 'string') spendText(result.length);
              run.charge(yield* costInParts(values));
            }
            return result;
          }
        : undefined,
  };
}

/** Whether comparing values of this type may take long: it may be a list or a map. */
function mayBeContainer({ type }: Expression): boolean {
  return type === undefined || !scalars.has(type.kind);
}

const scalars: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'string', 'bytes', 'duration', 'timestamp', 'null', 'type']);

function compileEquality([left, right]: readonly [Code, Code], { isEqual, mayBeLong }: { isEqual: boolean; mayBeLong: boolean }): Code {
  const cost = callCost(isEqual ? '_==_' : '_!=_')!;
  const id = isEqual ? 'equals' : 'not_equals';
  const charge = (run: Run, one: Value, other: Value): void =>
    run.charge(typeof one === 'number' && typeof other === 'number' ? 1 : cost([one, other], id, true));
  return {
    step(run) {
      const one = left.step(run);
      const other = right.step(run);
      const equal = equalValues(one, other);
      charge(run, one, other);
      return typeof equal === 'boolean' ? equal === isEqual : equal;
    },
    inParts: mayBeLong
      ? function* (run) {
          const one = yield* partsOf(left, run);
          const other = yield* partsOf(right, run);
          const equal = yield* equalInParts(one, other);
          charge(run, one, other);
          return typeof equal === 'boolean' ? equal === isEqual : equal;
        }
      : undefined,
  };
}

const tests = new Map<string, (order: number) => boolean>([
  ['_<_', (order) => order < 0],
  ['_<=_', (order) => order <= 0],
  ['_>_', (order) => order > 0],
  ['_>=_', (order) => order >= 0],
]);

/** Comparisons need no overload: the values themselves determine whether they are comparable. */
function quickComparison(name: string, [left, right]: readonly [Code, Code]): Code | undefined {
  const test = tests.get(name);
  if (test === undefined) return undefined;
  const cost = callCost(name)!;
  const compare = (run: Run, one: Value, other: Value): Value => {
    if (typeof one === 'number' && typeof other === 'number') {
      run.charge(1);
      return test(one - other);
    }
    const order = compareValues(one, other);
    run.charge(cost([one, other], name, true));
    return order instanceof CelError ? order : test(order);
  };
  return {
    step(run) {
      const one = left.step(run);
      return compare(run, one, right.step(run));
    },
    inParts:
      isLong(left) || isLong(right)
        ? function* (run) {
            const one = yield* partsOf(left, run);
            return compare(run, one, yield* partsOf(right, run));
          }
        : undefined,
  };
}

/** An index costs one; a plain name inside the brackets adds nothing. */
function compileIndex(
  [container, index]: readonly [Code, Code],
  written: readonly Expression[],
  { isOptional, mayBeLong }: { isOptional: boolean; mayBeLong: boolean },
): Code {
  const cost = (isAttribute(written[0]!) ? 1 : 2) - (isDiscounted(written[1]!) ? 1 : 0);
  const pick = (run: Run, one: Value, other: Value): Value => {
    const element = isOptional || one instanceof Optional ? optionalElement(one, other) : indexed(one, other);
    run.charge(element === Optional.none ? cost - 1 : cost);
    return element;
  };
  return {
    step(run) {
      const one = container.step(run);
      if (isError(one)) return one;
      const other = index.step(run);
      return isError(other) ? other : pick(run, one, other);
    },
    inParts: mayBeLong
      ? function* (run) {
          const one = yield* partsOf(container, run);
          if (isError(one)) return one;
          const other = yield* partsOf(index, run);
          if (isError(other)) return other;
          const task = taskBefore(one, other);
          if (task !== undefined) yield task;
          return pick(run, one, other);
        }
      : undefined,
  };
}

function indexed(container: Value, key: Value): Value {
  if (container instanceof ListValue) return elementAt(container, key);
  return container instanceof MapValue ? entryAt(container, key) : new CelError(`no such key: ${printValue(key)}`);
}
