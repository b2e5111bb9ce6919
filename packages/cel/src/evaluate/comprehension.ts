import { spend } from '@capstan/machinery';
import { LIST_COST } from '../cost/constants.ts';
import { insertEntries, insertEntry } from '../library/map-insert.ts';
import type { Comprehension } from '../syntax/ast.ts';
import { ArrayList, EntryMap } from '../value/collections.ts';
import { typeNameOf } from '../value/type-name.ts';
import { CelError, isError, ListValue, MapValue, noSuchOverload, type Value } from '../value/value.ts';
import type { Compiler } from './compile.ts';
import { constantOf } from './constant.ts';
import type { Run, Step } from './run.ts';

/** Processes one element; any result but undefined ends the loop with that outcome. */
type Body = (run: Run, isLast: boolean) => Value | undefined;

interface Loop {
  readonly range: Step;
  /** Slots of the variables; -1 if the expression does not have one. */
  readonly keySlot: number;
  readonly valueSlot: number;
  /** With one variable, a map is iterated by its keys and a list by its elements. */
  readonly hasTwoVariables: boolean;
}

export function compileComprehension(compiler: Compiler, expression: Comprehension): Step {
  const { fold } = expression;
  if (fold.kind === 'bind') return compileBinding(compiler, expression);
  const first = compiler.newSlot();
  const second = expression.secondVariable === undefined ? -1 : compiler.newSlot();
  const names = new Map([[expression.variable, first]]);
  if (expression.secondVariable !== undefined) names.set(expression.secondVariable, second);
  const range = compiler.compile(expression.range);
  const loop: Loop = { range, keySlot: first, valueSlot: second, hasTwoVariables: second >= 0 };
  return compiler.inScope(names, () => {
    switch (fold.kind) {
      case 'all':
        return compileQuantifier(loop, compiler.compile(fold.predicate), false);
      case 'exists':
        return compileQuantifier(loop, compiler.compile(fold.predicate), true);
      case 'existsOne':
        return compileExistsOne(loop, compiler.compile(fold.predicate));
      default: {
        const filter = fold.filter === undefined ? undefined : compiler.compile(fold.filter);
        const transform = compiler.compile(fold.transform);
        if (fold.kind !== 'list') return compileMap(loop, { filter, transform, kind: fold.kind });
        // Each element is wrapped in a list of its own, which costs nothing if it is constant.
        const cost = constantOf(fold.transform) === undefined ? LIST_COST + 2 : 2;
        return compileList(loop, { filter, transform, cost });
      }
    }
  });
}

function compileBinding(compiler: Compiler, expression: Comprehension): Step {
  const slot = compiler.newSlot();
  const value = compiler.compile(expression.initial);
  const body = compiler.inScope(new Map([[expression.accumulator, slot]]), () => compiler.compile(expression.result));
  return (run) => {
    run.slots[slot] = value(run);
    return body(run);
  };
}

/** Runs the body for each element; undefined if no element ended the loop. */
function walk(run: Run, loop: Loop, body: Body): Value | undefined {
  const range = loop.range(run);
  if (range instanceof ListValue) return walkList(run, loop, { range, body });
  if (range instanceof MapValue) return walkMap(run, loop, { range, body });
  return isError(range) ? range : new CelError(`got '${implementationName(range)}', expected iterable type`);
}

/** The name of cel-go's internal type, which it exposes here. */
function implementationName(value: Value): string {
  const name = typeNameOf(value).replace(/^google\.protobuf\.|_type$/, '');
  return `types.${name[0]!.toUpperCase()}${name.slice(1)}`;
}

function walkList(run: Run, loop: Loop, { range, body }: { range: ListValue; body: Body }): Value | undefined {
  for (let index = 0; index < range.size; index++) {
    spend(1);
    if (loop.hasTwoVariables) {
      run.slots[loop.keySlot] = index;
      run.slots[loop.valueSlot] = range.at(index);
    } else run.slots[loop.keySlot] = range.at(index);
    const outcome = body(run, index === range.size - 1);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

function walkMap(run: Run, loop: Loop, { range, body }: { range: MapValue; body: Body }): Value | undefined {
  const keys = range.keys();
  for (const [index, key] of keys.entries()) {
    spend(1);
    run.slots[loop.keySlot] = key;
    if (loop.hasTwoVariables) run.slots[loop.valueSlot] = range.find(key)!;
    const outcome = body(run, index === keys.length - 1);
    if (outcome !== undefined) return outcome;
  }
  return undefined;
}

/** `all` stops at the first false, `exists` at the first true; errors count only if no element decides. */
function compileQuantifier(loop: Loop, predicate: Step, decisive: boolean): Step {
  // The cost of the expanded loop's condition, which is evaluated once more after a deciding element; the accumulator costs one.
  const condition = decisive ? 3 : 2;
  return (run) => {
    let failed: Value | undefined;
    const outcome = walk(run, loop, (current, isLast) => {
      current.charge(condition + 1);
      const value = predicate(current);
      if (value === decisive) {
        if (!isLast) current.charge(condition);
        return decisive;
      }
      if (value !== !decisive) failed ??= isError(value) ? value : noSuchOverload;
      return undefined;
    });
    run.charge(1);
    return outcome ?? failed ?? !decisive;
  };
}

/** This loop continues after an error, which then becomes the outcome; continuing has a cost. */
function compileExistsOne(loop: Loop, predicate: Step): Step {
  return (run) => {
    let count = 0;
    let failed: CelError | undefined;
    const outcome = walk(run, loop, (current) => {
      const value = predicate(current);
      if (value === true) {
        count++;
        current.charge(2);
      } else if (value !== false) failed = isError(value) ? value : noSuchOverload;
      return undefined;
    });
    run.charge(2);
    return outcome ?? failed ?? count === 1;
  };
}

/** Whether to include an element, or the error in deciding that. */
function isTaken(run: Run, filter: Step | undefined): boolean | CelError {
  if (filter === undefined) return true;
  const keeps = filter(run);
  if (typeof keeps === 'boolean') return keeps;
  return isError(keeps) ? keeps : noSuchOverload;
}

interface ListFold {
  readonly filter: Step | undefined;
  readonly transform: Step;
  readonly cost: number;
}

function compileList(loop: Loop, { filter, transform, cost }: ListFold): Step {
  return (run) => {
    const elements: Value[] = [];
    let failed: CelError | undefined;
    const outcome = walk(run, loop, (current) => {
      const taken = isTaken(current, filter);
      if (isError(taken)) failed = taken;
      if (taken !== true) return undefined;
      current.charge(cost);
      const value = transform(current);
      if (isError(value)) failed ??= value;
      else elements.push(value);
      return undefined;
    });
    run.charge(1);
    return outcome ?? failed ?? new ArrayList(elements);
  };
}

interface MapFold {
  readonly filter: Step | undefined;
  readonly transform: Step;
  readonly kind: 'map' | 'mapEntries';
}

function compileMap(loop: Loop, { filter, transform, kind }: MapFold): Step {
  return (run) => {
    const map = new EntryMap();
    let failed: CelError | undefined;
    const outcome = walk(run, loop, (current) => {
      const taken = isTaken(current, filter);
      if (isError(taken)) failed = taken;
      if (taken !== true) return undefined;
      current.charge(kind === 'map' ? 3 : 2);
      const value = transform(current);
      const inserted = kind === 'map' ? insertOne(map, current.slots[loop.keySlot]!, value) : insertAll(map, value);
      if (isError(inserted)) failed ??= inserted;
      return undefined;
    });
    run.charge(1);
    return outcome ?? failed ?? map;
  };
}

function insertOne(map: EntryMap, key: Value, value: Value): Value {
  return isError(value) ? value : insertEntry(map, key, value);
}

function insertAll(map: EntryMap, added: Value): Value {
  if (isError(added)) return added;
  return added instanceof MapValue ? insertEntries(map, added) : noSuchOverload;
}
