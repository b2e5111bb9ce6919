import { spend, spentPart } from '@capstan/machinery';
import { LIST_COST } from '../cost/constants.ts';
import type { Comprehension } from '../syntax/ast.ts';
import type { FoldKind } from '../syntax/fold.ts';
import { typeNameOf } from '../value/type-name.ts';
import { CelError, isError, ListValue, MapValue, type Value } from '../value/value.ts';
import { Attempts } from './attempt.ts';
import type { Compiler } from './compile.ts';
import { constantOf } from './constant.ts';
import { ExistsOne, type Fold, ListFold, MapFold, Quantifier } from './fold.ts';
import { type Code, isLong, partsOf, type Run } from './run.ts';
import type { Flow } from './task.ts';

interface Loop {
  readonly range: Code;
  /** Slots of the variables; -1 if the expression does not have one. */
  readonly keySlot: number;
  readonly valueSlot: number;
  /** With one variable, a map is iterated by its keys and a list by its elements. */
  readonly hasTwoVariables: boolean;
}

/** The part of a loop that runs for each element. */
interface Body {
  /** Decides whether to include the element. */
  readonly filter: Code | undefined;
  /** The predicate, or what becomes of the element. */
  readonly transform: Code;
  /** The number of subexpressions of both. */
  readonly size: number;
  /** The cost of each element that is included, and that of the end of the loop. */
  readonly cost: number;
  readonly endCost: number;
  readonly newFold: () => Fold;
}

export function compileComprehension(compiler: Compiler, expression: Comprehension): Code {
  const { fold } = expression;
  if (fold.kind === 'bind') return compileBinding(compiler, expression);
  const first = compiler.newSlot();
  const second = expression.secondVariable === undefined ? -1 : compiler.newSlot();
  const names = new Map([[expression.variable, first]]);
  if (expression.secondVariable !== undefined) names.set(expression.secondVariable, second);
  const range = compiler.compile(expression.range);
  const loop: Loop = { range, keySlot: first, valueSlot: second, hasTwoVariables: second >= 0 };
  return compiler.inScope(names, () => compileLoop(loop, bodyOf(compiler, fold, loop)));
}

function bodyOf(compiler: Compiler, fold: Exclude<FoldKind, { kind: 'bind' }>, { keySlot }: Loop): Body {
  if (fold.kind === 'all' || fold.kind === 'exists' || fold.kind === 'existsOne') {
    return {
      filter: undefined,
      transform: compiler.compile(fold.predicate),
      size: compiler.sizeOf(fold.predicate),
      ...quantifier(fold.kind),
    };
  }
  const filter = fold.filter === undefined ? undefined : compiler.compile(fold.filter);
  const transform = compiler.compile(fold.transform);
  const size = compiler.sizeOf(fold.transform) + (fold.filter === undefined ? 0 : compiler.sizeOf(fold.filter));
  if (fold.kind === 'list') {
    // Each element is wrapped in a list of its own, which costs nothing if it is constant.
    const cost = constantOf(fold.transform) === undefined ? LIST_COST + 2 : 2;
    return { filter, transform, size, cost, endCost: 1, newFold: () => new ListFold() };
  }
  const isMap = fold.kind === 'map';
  return { filter, transform, size, cost: isMap ? 3 : 2, endCost: 1, newFold: () => new MapFold(isMap ? keySlot : undefined) };
}

function quantifier(kind: 'all' | 'exists' | 'existsOne'): Pick<Body, 'cost' | 'endCost' | 'newFold'> {
  if (kind === 'existsOne') return { cost: 0, endCost: 2, newFold: () => new ExistsOne() };
  const isExists = kind === 'exists';
  // The cost of the expanded loop's condition, which is evaluated once more after a deciding element; the accumulator costs one.
  const condition = isExists ? 3 : 2;
  return { cost: condition + 1, endCost: 1, newFold: () => new Quantifier(isExists, condition) };
}

function compileBinding(compiler: Compiler, expression: Comprehension): Code {
  const slot = compiler.newSlot();
  const value = compiler.compile(expression.initial);
  const body = compiler.inScope(new Map([[expression.accumulator, slot]]), () => compiler.compile(expression.result));
  return {
    step(run) {
      run.slots[slot] = value.step(run);
      return body.step(run);
    },
    inParts:
      isLong(value) || isLong(body)
        ? function* (run) {
            run.slots[slot] = yield* partsOf(value, run);
            return yield* partsOf(body, run);
          }
        : undefined,
  };
}

function compileLoop(loop: Loop, body: Body): Code {
  const finish = (run: Run, fold: Fold, outcome: Value | undefined): Value => {
    run.charge(body.endCost);
    return outcome ?? fold.result();
  };
  return {
    step(run) {
      const fold = body.newFold();
      const elements = elementsIn(loop, loop.range.step(run));
      return finish(run, fold, elements instanceof CelError ? elements : walk(run, body, { elements, fold }));
    },
    *inParts(run) {
      const fold = body.newFold();
      const elements = elementsIn(loop, yield* partsOf(loop.range, run));
      return finish(run, fold, elements instanceof CelError ? elements : yield* walkInParts(run, body, { elements, fold }));
    },
  };
}

interface Walk {
  readonly elements: Elements;
  readonly fold: Fold;
}

/** Runs the body for each element; undefined if no element ended the loop. */
function walk(run: Run, { filter, transform, cost }: Body, { elements, fold }: Walk): Value | undefined {
  const { size } = elements;
  for (let index = 0; index < size; index++) {
    elements.bind(run, index);
    if (filter !== undefined && !fold.keeps(filter.step(run))) continue;
    run.charge(cost);
    const outcome = fold.take(run, transform.step(run), index === size - 1);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

function* walkInParts(run: Run, { filter, transform, cost, size: uncounted }: Body, { elements, fold }: Walk): Flow<Value | undefined> {
  const { size } = elements;
  const attempts = new Attempts(uncounted);
  for (let index = 0; index < size; index++) {
    if (spentPart(uncounted)) yield;
    elements.bind(run, index);
    if (filter !== undefined) {
      let keeps = attempts.evaluate(filter, run);
      if (keeps === undefined) keeps = yield* partsOf(filter, run);
      if (!fold.keeps(keeps)) continue;
    }
    run.charge(cost);
    let value = attempts.evaluate(transform, run);
    if (value === undefined) value = yield* partsOf(transform, run);
    const outcome = fold.take(run, value, index === size - 1);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

/** The elements of a list, or the entries of a map, that a loop visits. */
interface Elements {
  readonly size: number;
  /** Sets the variables of the loop to one element. */
  bind(run: Run, index: number): void;
}

function elementsIn(loop: Loop, range: Value): Elements | CelError {
  if (range instanceof ListValue) return new ListElements(loop, range);
  if (range instanceof MapValue) return new MapElements(loop, range);
  return isError(range) ? range : new CelError(`got '${implementationName(range)}', expected iterable type`);
}

/** The name of cel-go's internal type, which it exposes here. */
function implementationName(value: Value): string {
  const name = typeNameOf(value).replace(/^google\.protobuf\.|_type$/, '');
  return `types.${name[0]!.toUpperCase()}${name.slice(1)}`;
}

class ListElements implements Elements {
  readonly size: number;
  readonly #loop: Loop;
  readonly #range: ListValue;

  constructor(loop: Loop, range: ListValue) {
    this.size = range.size;
    this.#loop = loop;
    this.#range = range;
  }

  bind({ slots }: Run, index: number): void {
    const { keySlot, valueSlot, hasTwoVariables } = this.#loop;
    spend(1);
    if (hasTwoVariables) {
      slots[keySlot] = index;
      slots[valueSlot] = this.#range.at(index);
    } else slots[keySlot] = this.#range.at(index);
  }
}

class MapElements implements Elements {
  readonly size: number;
  readonly #loop: Loop;
  readonly #range: MapValue;
  readonly #keys: readonly Value[];

  constructor(loop: Loop, range: MapValue) {
    this.#keys = range.keys();
    this.size = this.#keys.length;
    this.#loop = loop;
    this.#range = range;
  }

  bind({ slots }: Run, index: number): void {
    const { keySlot, valueSlot, hasTwoVariables } = this.#loop;
    const key = this.#keys[index]!;
    spend(1);
    slots[keySlot] = key;
    if (hasTwoVariables) slots[valueSlot] = this.#range.find(key)!;
  }
}
