import type { Call, Comprehension, Expression } from '../syntax/ast.ts';
import { countCharacters } from '../syntax/source.ts';
import type { Declaration } from '../types/declaration.ts';
import { isOptional, type Type } from '../types/type.ts';
import { estimateCall, type Operand } from './call-estimate.ts';
import { LIST_COST, MAP_COST, STRUCT_COST } from './constants.ts';
import { add, exactly, multiply, type Range, sum, union, unknownSize } from './range.ts';

/** The origin of a value: a variable, then names of fields, `@items`, `@keys` and `@values`. */
type Path = readonly string[];

/** Sizes of the keys (or indexes) and values of a container created by an expression. */
interface EntrySizes {
  readonly container: 'list' | 'map';
  readonly key: Range;
  readonly value: Range;
}

interface LocalVariable {
  readonly path: Path;
  readonly size: Range | undefined;
  readonly entries: EntrySizes | undefined;
}

/** The least and the most that evaluating a checked expression can cost, given the maximum sizes of the variables. */
export function estimateCost(expression: Expression, variables: ReadonlyMap<string, Declaration>): Range {
  return new Estimator(variables).cost(expression);
}

class Estimator {
  readonly #variables: ReadonlyMap<string, Declaration>;
  readonly #locals = new Map<string, LocalVariable[]>();
  readonly #paths = new Map<Expression, Path>();
  readonly #sizes = new Map<Expression, Range>();
  readonly #entries = new Map<Expression, EntrySizes>();
  /** Macros may use one node twice; it costs the same both times. */
  readonly #costs = new Map<Expression, Range>();

  constructor(variables: ReadonlyMap<string, Declaration>) {
    this.#variables = variables;
  }

  cost(expression: Expression): Range {
    const known = this.#costs.get(expression);
    if (known !== undefined) return known;
    const cost = this.#cost(expression);
    this.#costs.set(expression, cost);
    return cost;
  }

  #cost(expression: Expression): Range {
    switch (expression.kind) {
      case 'literal':
        return exactly(0);
      case 'identifier':
        this.#paths.set(expression, this.#local(expression.name)?.path ?? [expression.name]);
        return exactly(1);
      case 'select':
        return this.#select(expression);
      case 'call':
        return this.#call(expression);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'struct':
        return add(sum(expression.fields.map((field) => this.cost(field.value))), exactly(STRUCT_COST));
      case 'comprehension':
        return expression.fold.kind === 'bind' ? this.#binding(expression) : this.#comprehension(expression);
    }
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #push(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack === undefined) this.#locals.set(name, [variable]);
    else stack.push(variable);
  }

  #pop(name: string): void {
    this.#locals.get(name)!.pop();
  }

  #path(expression: Expression): Path {
    if (expression.kind === 'identifier') {
      const local = this.#local(expression.name);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expression) ?? [];
  }

  #select(expression: Expression & { kind: 'select' }): Range {
    if (expression.qualified !== undefined) {
      this.#paths.set(expression, [expression.qualified]);
      return exactly(1);
    }
    const operand = this.cost(expression.operand);
    if (expression.test) return operand;
    this.#paths.set(expression, [...this.#path(expression.operand), expression.field]);
    const kind = expression.operand.type?.kind;
    return kind === 'map' || kind === 'object' || kind === 'parameter' ? add(operand, exactly(1)) : operand;
  }

  #call(expression: Call): Range {
    const name = expression.qualified ?? expression.name;
    const args = expression.args.map((argument) => this.cost(argument));
    if (name === 'dyn') {
      this.#copySizes(expression, expression.args[0]!);
      return add(exactly(1), args[0]!);
    }
    const isMethod = expression.target !== undefined && expression.qualified === undefined;
    const target = isMethod ? this.cost(expression.target!) : exactly(0);
    if (name === '_?._') return add(exactly(1), sum(args));
    const operands = expression.args.map((argument) => this.#operand(argument));
    const receiver = isMethod ? this.#operand(expression.target!) : undefined;
    let cost: Range | undefined;
    let size: Range | undefined;
    for (const overload of expression.overloads ?? []) {
      const estimate = estimateCall({ name, overload: overload.id, target: receiver, args: operands, argumentCosts: args });
      cost = cost === undefined ? estimate.cost : union(cost, estimate.cost);
      if (estimate.size !== undefined) size = size === undefined ? estimate.size : union(size, estimate.size);
      size = this.#trackEntries(expression, overload.id, size);
    }
    if (size !== undefined) this.#sizes.set(expression, size);
    return add(target, cost ?? exactly(0));
  }

  /** Tracks elements through indexing, concatenation and conditionals. */
  #trackEntries(expression: Call, overload: string, size: Range | undefined): Range | undefined {
    const [first, second, third] = expression.args;
    switch (overload) {
      case 'index_list':
      case 'index_map':
        this.#paths.set(expression, [...this.#path(first!), overload === 'index_list' ? '@items' : '@values']);
        return this.#entriesOf(first!)?.value ?? this.#sizeOf(expression);
      case 'conditional':
        this.#setEntries(expression, joined(this.#entriesOf(second!), this.#entriesOf(third!)));
        return size;
      case 'add_list':
      case 'add_string':
      case 'add_bytes':
        this.#setEntries(expression, joined(this.#entriesOf(first!), this.#entriesOf(second!)));
        return size;
      default:
        return size ?? this.#sizeOf(expression);
    }
  }

  #operand(expression: Expression): Operand {
    const path = this.#path(expression);
    const isAccumulator = path[0]?.startsWith('@result') === true;
    const elementPath = isAccumulator || path.length === 0 ? [] : [...path, '@items'];
    return {
      type: expression.type!,
      size: this.#sizeOf(expression),
      elementSize: () => this.#declaredSize(elementPath) ?? unknownSize,
      literal: expression.kind === 'literal' ? expression.value : undefined,
    };
  }

  /**
   * The size that a schema declares for a path. Kubernetes treats the start of any path as `self`, even for elements of lists that the
   * expression created and for names of types, so they get the sizes of parts of `self`. Our estimates must agree with it.
   */
  #declaredSize(path: Path): Range | undefined {
    let current = path.length === 0 ? undefined : (this.#variables.get(path[0]!) ?? this.#variables.get('self'));
    for (const name of path.slice(1)) {
      if (current === undefined) return undefined;
      if (name === '@items' || name === '@values') current = current.element;
      else if (name === '@keys') current = current.key;
      else current = current.fields?.get(name)?.declaration;
    }
    return current === undefined ? undefined : { min: 0, max: current.maximumSize };
  }

  #sizeOf(expression: Expression): Range | undefined {
    const known = this.#sizes.get(expression) ?? literalSize(expression);
    if (known !== undefined) return known;
    const declared = this.#declaredSize(this.#path(expression));
    if (declared !== undefined) {
      this.#sizes.set(expression, declared);
      return declared;
    }
    if (expression.type !== undefined && isScalar(expression.type)) return exactly(1);
    return expression.kind === 'identifier' ? this.#local(expression.name)?.size : undefined;
  }

  #entriesOf(expression: Expression): EntrySizes | undefined {
    const known = this.#entries.get(expression);
    if (known !== undefined || expression.kind !== 'identifier') return known;
    return this.#local(expression.name)?.entries;
  }

  #setEntries(expression: Expression, entries: EntrySizes | undefined): void {
    if (entries !== undefined) this.#entries.set(expression, entries);
  }

  #copySizes(to: Expression, from: Expression): void {
    const size = this.#sizeOf(from);
    if (size !== undefined) this.#sizes.set(to, size);
    this.#setEntries(to, this.#entriesOf(from));
  }

  #list(expression: Expression & { kind: 'list' }): Range {
    const costs = expression.elements.map((element) => this.cost(element));
    const value = this.#unionOfSizes(expression.elements);
    this.#entries.set(expression, { container: 'list', key: exactly(1), value });
    return add(sum(costs), exactly(LIST_COST));
  }

  #unionOfSizes(expressions: readonly Expression[]): Range {
    if (expressions.length === 0) return exactly(0);
    return expressions.map((expression) => this.#sizeOf(expression) ?? unknownSize).reduce(union);
  }

  #map(expression: Expression & { kind: 'map' }): Range {
    const keys = expression.entries.map((entry) => entry.key);
    const values = expression.entries.map((entry) => entry.value);
    const costs = [...keys, ...values].map((part) => this.cost(part));
    this.#entries.set(expression, { container: 'map', key: this.#unionOfSizes(keys), value: this.#unionOfSizes(values) });
    return add(sum(costs), exactly(MAP_COST));
  }

  #binding(expression: Comprehension): Range {
    const { accumulator, initial, result } = expression;
    const before = add(this.cost(expression.range), this.cost(initial));
    this.#push(accumulator, { path: this.#path(initial), size: this.#sizeOf(initial), entries: this.#entriesOf(initial) });
    const body = this.cost(result);
    this.#pop(accumulator);
    this.#copySizes(expression, result);
    return add(before, body);
  }

  #comprehension(expression: Comprehension): Range {
    const { range, initial, accumulator, variable, secondVariable } = expression;
    const before = add(this.cost(range), this.cost(initial));
    this.#push(accumulator, { path: this.#path(initial), size: this.#sizeOf(initial), entries: this.#entriesOf(initial) });
    const [key, value] = this.#loopVariables(range);
    if (secondVariable === undefined) this.#push(variable, this.#containerOf(range) === 'list' ? value : key);
    else {
      this.#push(variable, key);
      this.#push(secondVariable, value);
    }
    const each = add(this.cost(expression.condition), this.cost(expression.step));
    this.#pop(variable);
    if (secondVariable !== undefined) this.#pop(secondVariable);
    const result = this.cost(expression.result);
    this.#pop(accumulator);
    const count = this.#sizeOf(range) ?? unknownSize;
    this.#trackResult(expression, count);
    return add(add(before, result), multiply(count, each));
  }

  #trackResult(expression: Comprehension, count: Range): void {
    const { initial } = expression;
    if (initial.kind === 'literal') {
      const size = this.#sizeOf(initial);
      if (size !== undefined) this.#sizes.set(expression, size);
    } else if (initial.kind === 'list' || initial.kind === 'map') {
      this.#sizes.set(expression, count);
      this.#setEntries(expression, this.#entriesOf(expression.step));
    }
  }

  #containerOf(range: Expression): string | undefined {
    return this.#entriesOf(range)?.container ?? range.type?.kind;
  }

  #loopVariables(range: Expression): [LocalVariable, LocalVariable] {
    const entries = this.#entriesOf(range);
    const isList = this.#containerOf(range) === 'list';
    const path = this.#path(range);
    return [
      { path: [...path, isList ? '@indices' : '@keys'], size: entries?.key, entries: undefined },
      { path: [...path, isList ? '@items' : '@values'], size: entries?.value, entries: undefined },
    ];
  }
}

function joined(one: EntrySizes | undefined, other: EntrySizes | undefined): EntrySizes | undefined {
  if (one === undefined || other === undefined) return undefined;
  return { container: one.container, key: union(one.key, other.key), value: union(one.value, other.value) };
}

function literalSize(expression: Expression): Range | undefined {
  switch (expression.kind) {
    case 'literal': {
      const { value } = expression;
      if (typeof value === 'string') return exactly(countCharacters(value));
      return exactly(value instanceof Uint8Array ? value.length : 1);
    }
    case 'list':
      return exactly(expression.elements.length);
    case 'map':
      return exactly(expression.entries.length);
    default:
      return undefined;
  }
}

/** Whether all values of the type have the same size. */
function isScalar(type: Type): boolean {
  if (isOptional(type)) return isScalar(type.parameters[0]!);
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind);
}
