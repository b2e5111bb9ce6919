import type { Environment } from '../check/environment.ts';
import { LIST_COST, MAP_COST, STRUCT_COST } from '../cost/constants.ts';
import { optionalElement } from '../library/optional.ts';
import type { Call, Expression, Identifier, ListLiteral, MapLiteral, Select, StructLiteral } from '../syntax/ast.ts';
import { children } from '../syntax/children.ts';
import { ArrayList, EntryMap, keyOf } from '../value/collections.ts';
import { JsonStruct } from '../value/json.ts';
import { printValue } from '../value/print.ts';
import { operationOf, StructValue } from '../value/struct.ts';
import { typeNameOf } from '../value/type-name.ts';
import { CelError, isError, MapValue, noSuchOverload, Optional, TypeValue, type Value } from '../value/value.ts';
import { isAttribute } from './attribute.ts';
import { compileCall } from './call.ts';
import { compileComprehension } from './comprehension.ts';
import { constantConversion, constantList, constantMap } from './constant.ts';
import { taskBefore } from './lazy.ts';
import { compileConditional, compileLogic } from './logic.ts';
import { compileMembership } from './membership.ts';
import { type Code, isLong, partsOf, type Run, short } from './run.ts';
import { runtimeTypeName } from './runtime-type-name.ts';

/** Compiles a checked expression into functions that call each other. */
export class Compiler {
  readonly #environment: Environment;
  readonly #compiled = new Map<Expression, Code>();
  /** The slot of each variable in scope, innermost last. */
  readonly #scopes: Map<string, number>[] = [];
  /** The declared variables that the expression uses, by slot. */
  readonly variables: string[] = [];
  readonly #sizes = new Map<Expression, number>();
  #slots = 0;
  #readsLazyFields = false;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  compile(expression: Expression): Code {
    const known = this.#compiled.get(expression);
    if (known !== undefined) return known;
    const code = this.#compile(expression);
    this.#compiled.set(expression, code);
    return code;
  }

  /** Compiles with additional variables in scope. */
  inScope<T>(names: ReadonlyMap<string, number>, compile: () => T): T {
    this.#scopes.push(new Map(names));
    const result = compile();
    this.#scopes.pop();
    return result;
  }

  newSlot(): number {
    return this.#slots++;
  }

  /** Assigns slots to declared variables. Called before anything is compiled, so that they come first. */
  declare(names: Iterable<string>): void {
    for (const name of names) {
      if (this.#environment.variables.get(name)!.isLazy === true) this.#readsLazyFields = true;
      this.variables.push(name);
      this.#slots++;
    }
  }

  /** The number of subexpressions, this one included. */
  sizeOf(expression: Expression): number {
    let size = this.#sizes.get(expression);
    if (size === undefined) {
      size = children(expression).reduce((sum, child) => sum + this.sizeOf(child), 1);
      this.#sizes.set(expression, size);
    }
    return size;
  }

  /** Whether a value may have fields that are yet to be computed. Where a value comes from is known only while it is evaluated. */
  mayBeLazy({ type }: Expression): boolean {
    return this.#readsLazyFields && (type === undefined || !neverLazy.has(type.kind));
  }

  #compile(expression: Expression): Code {
    switch (expression.kind) {
      case 'literal': {
        const { value } = expression;
        return short(() => value);
      }
      case 'identifier':
        return this.#identifier(expression);
      case 'select':
        return this.#select(expression);
      case 'call':
        return this.#call(expression);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'struct':
        return this.#struct(expression);
      case 'comprehension':
        return compileComprehension(this, expression);
    }
  }

  #identifier(expression: Identifier): Code {
    return this.#name(expression.name);
  }

  #name(written: string): Code {
    const isGlobal = written.startsWith('.');
    const name = isGlobal ? written.slice(1) : written;
    const slot = isGlobal ? this.variables.indexOf(name) : this.#slotOf(name);
    if (slot >= 0) {
      return short((run) => {
        run.charge(1);
        return run.slots[slot]!;
      });
    }
    const known = this.#environment.typeNames.get(name) ?? this.#environment.structs.find(name);
    const type = new TypeValue(runtimeTypeName(known, name));
    return short(() => type);
  }

  #slotOf(name: string): number {
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const slot = this.#scopes[index]!.get(name);
      if (slot !== undefined) return slot;
    }
    return this.variables.indexOf(name);
  }

  #select(expression: Select): Code {
    if (expression.qualified !== undefined) return this.#name(expression.qualified);
    const operand = this.compile(expression.operand);
    const { field } = expression;
    const read = expression.test ? presenceOf(field) : this.#reader(expression);
    return {
      step: (run) => read(run, operand.step(run)),
      inParts:
        isLong(operand) || this.mayBeLazy(expression.operand)
          ? function* (run) {
              const container = operand.inParts === undefined ? operand.step(run) : yield* operand.inParts(run);
              const task = taskBefore(container, field);
              if (task !== undefined) yield task;
              return read(run, container);
            }
          : undefined,
    };
  }

  #reader({ operand, field }: Select): Reader {
    const cost = isAttribute(operand) ? 1 : 2;
    const declared = this.#declaredField(operand, field);
    const missing = new CelError(`no such key: ${field}`);
    return (run, container) => {
      run.charge(cost);
      if (declared === undefined || !(container instanceof JsonStruct)) return selectField(container, field, missing);
      const value = container.read(declared);
      return value === undefined ? missing : value;
    };
  }

  /** The field as declared by the operand's type, which saves a lookup by name. */
  #declaredField(operand: Expression, field: string) {
    return operand.type?.kind === 'object' ? operand.type.fields?.get(field) : undefined;
  }

  #call(expression: Call): Code {
    switch (expression.name) {
      case '_&&_':
      case '_||_':
        return compileLogic(
          expression.args.map((argument) => this.compile(argument)),
          expression.name === '_||_',
        );
      case '_?_:_':
        return compileConditional(this, expression);
      case '_?._':
        return this.#optionalSelect(expression);
      case 'or':
      case 'orValue':
        return expression.target === undefined ? compileCall(this, expression) : this.#alternative(expression);
      case '@in':
        return compileMembership(this, expression) ?? compileCall(this, expression);
      default: {
        const constant = constantConversion(expression);
        return constant === undefined ? compileCall(this, expression) : short(() => constant);
      }
    }
  }

  #optionalSelect(expression: Call): Code {
    const [operandExpression, fieldExpression] = expression.args as [Expression, Expression];
    const operand = this.compile(operandExpression);
    const field = this.compile(fieldExpression);
    const cost = isAttribute(operandExpression) ? 1 : 2;
    const pick = (run: Run, container: Value, name: Value): Value => {
      const element = optionalElement(container, name);
      // A missing element was not qualified either, so it costs nothing.
      run.charge(element === Optional.none ? cost - 1 : cost);
      return element;
    };
    return {
      step(run) {
        const container = operand.step(run);
        return isError(container) ? container : pick(run, container, field.step(run));
      },
      inParts:
        isLong(operand) || this.mayBeLazy(operandExpression)
          ? function* (run) {
              const container = yield* partsOf(operand, run);
              if (isError(container)) return container;
              const name = field.step(run);
              const task = taskBefore(container, name);
              if (task !== undefined) yield task;
              return pick(run, container, name);
            }
          : undefined,
    };
  }

  /** `a.or(b)` and `a.orValue(b)`, which evaluate `b` only if `a` has no value. */
  #alternative(expression: Call): Code {
    const target = this.compile(expression.target!);
    const alternative = this.compile(expression.args[0]!);
    const isValue = expression.name === 'orValue';
    /** The outcome without the alternative; undefined if that decides. */
    const decided = (first: Value): Value | undefined => {
      if (isError(first)) return first;
      if (!(first instanceof Optional)) return noSuchOverload;
      return first.value !== undefined && !isValue ? first : first.value;
    };
    return {
      step(run) {
        const value = decided(target.step(run));
        return value === undefined ? alternative.step(run) : value;
      },
      inParts: [target, alternative].some(isLong)
        ? function* (run) {
            const value = decided(yield* partsOf(target, run));
            return value === undefined ? yield* partsOf(alternative, run) : value;
          }
        : undefined,
    };
  }

  #list(expression: ListLiteral): Code {
    const constant = constantList(expression);
    if (constant !== undefined) return short(() => constant);
    const elements = expression.elements.map((element) => this.compile(element));
    const { optional } = expression;
    /** Adds an element; returns an error if that ends the evaluation of the list. */
    const add = (values: Value[], value: Value, index: number): CelError | undefined => {
      if (isError(value)) return value;
      if (optional.size === 0 || !optional.has(index)) values.push(value);
      else if (!(value instanceof Optional)) {
        return new CelError(`cannot initialize optional list element from non-optional value ${printValue(value)}`);
      } else if (value.value !== undefined) values.push(value.value);
      return undefined;
    };
    return {
      step(run) {
        run.charge(LIST_COST);
        const values: Value[] = [];
        for (let index = 0; index < elements.length; index++) {
          const failed = add(values, elements[index]!.step(run), index);
          if (failed !== undefined) return failed;
        }
        return new ArrayList(values);
      },
      inParts: elements.some(isLong)
        ? function* (run) {
            run.charge(LIST_COST);
            const values: Value[] = [];
            for (const [index, element] of elements.entries()) {
              const failed = add(values, yield* partsOf(element, run), index);
              if (failed !== undefined) return failed;
            }
            return new ArrayList(values);
          }
        : undefined,
    };
  }

  #map(expression: MapLiteral): Code {
    const constant = constantMap(expression);
    if (constant !== undefined) return short(() => constant);
    const entries = expression.entries.map(({ key, value, optional }) => ({
      key: this.compile(key),
      value: this.compile(value),
      optional,
    }));
    /** Adds an entry; returns an error if that ends the evaluation of the map. */
    const add = (map: EntryMap, key: Value, value: Value | undefined): CelError | undefined => {
      if (value === undefined) return undefined;
      if (isError(value)) return value;
      if (keyOf(key) === undefined) return new CelError(`unsupported key type: ${typeNameOf(key)}`);
      map.set(key, value);
      return undefined;
    };
    return {
      step(run) {
        run.charge(MAP_COST);
        const map = new EntryMap();
        for (const entry of entries) {
          const key = entry.key.step(run);
          if (isError(key)) return key;
          const failed = add(map, key, unwrapped(entry.value.step(run), entry.optional, key));
          if (failed !== undefined) return failed;
        }
        return map;
      },
      inParts: entries.some(({ key, value }) => isLong(key) || isLong(value))
        ? function* (run) {
            run.charge(MAP_COST);
            const map = new EntryMap();
            for (const entry of entries) {
              const key = yield* partsOf(entry.key, run);
              if (isError(key)) return key;
              const failed = add(map, key, unwrapped(yield* partsOf(entry.value, run), entry.optional, key));
              if (failed !== undefined) return failed;
            }
            return map;
          }
        : undefined,
    };
  }

  #struct(expression: StructLiteral): Code {
    const fields = expression.fields.map(({ name, value, optional }) => ({ name, value: this.compile(value), optional }));
    const typeName = expression.name.replace(/^\./, '');
    /** Sets a field; returns an error if that ends the evaluation of the object. */
    const set = (made: Map<string, Value>, name: string, value: Value | undefined): CelError | undefined => {
      if (value === undefined) return undefined;
      if (isError(value)) return value;
      made.set(name, value);
      return undefined;
    };
    const finish = (run: Run, made: ReadonlyMap<string, Value>): Value => {
      run.charge(STRUCT_COST);
      return typeName === 'JSONPatch' ? operationOf(made) : new StructValue(typeName, made);
    };
    return {
      step(run) {
        const made = new Map<string, Value>();
        for (const { name, value, optional } of fields) {
          const failed = set(made, name, unwrapped(value.step(run), optional, name));
          if (failed !== undefined) return failed;
        }
        return finish(run, made);
      },
      inParts: fields.some(({ value }) => isLong(value))
        ? function* (run) {
            const made = new Map<string, Value>();
            for (const { name, value, optional } of fields) {
              const failed = set(made, name, unwrapped(yield* partsOf(value, run), optional, name));
              if (failed !== undefined) return failed;
            }
            return finish(run, made);
          }
        : undefined,
    };
  }
}

/** Reads a field of a container. */
type Reader = (run: Run, container: Value) => Value;

/** `has(container.field)` */
function presenceOf(field: string): Reader {
  return (_run, container) => {
    if (isError(container)) return container;
    const inner = container instanceof Optional ? container.value : container;
    if (inner === undefined) return false;
    if (inner instanceof StructValue) return inner.fields.has(field);
    if (!(inner instanceof MapValue)) return noSuchOverload;
    const found = inner.find(field);
    return found !== undefined && !isError(found);
  };
}

/** Types of values without fields. */
const neverLazy: ReadonlySet<string> = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'duration',
  'timestamp',
  'null',
  'list',
  'map',
]);

/** The value of an entry; undefined for `?key: optional.none()`. */
function unwrapped(value: Value, isOptional: boolean, key: Value): Value | undefined {
  if (!isOptional || isError(value)) return value;
  if (value instanceof Optional) return value.value;
  return new CelError(`cannot initialize optional entry '${printValue(key)}' from non-optional value ${printValue(value)}`);
}

function selectField(container: Value, field: string, missing: CelError): Value {
  if (container instanceof MapValue) {
    const found = container.find(field);
    return found === undefined ? missing : found;
  }
  if (container instanceof Optional) return optionalElement(container, field);
  // An open type has every field; an unset one is null.
  if (container instanceof StructValue) return container.fields.get(field) ?? null;
  return isError(container) ? container : missing;
}
