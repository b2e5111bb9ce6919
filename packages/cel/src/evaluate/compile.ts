import type { Environment } from '../check/environment.ts';
import { LIST_COST, MAP_COST, STRUCT_COST } from '../cost/constants.ts';
import { optionalElement } from '../library/optional.ts';
import type { Call, Expression, Identifier, ListLiteral, MapLiteral, Select, StructLiteral } from '../syntax/ast.ts';
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
import { compileConditional, compileLogic } from './logic.ts';
import { compileMembership } from './membership.ts';
import type { Step } from './run.ts';
import { runtimeTypeName } from './runtime-type-name.ts';

/** Compiles a checked expression into functions that call each other. */
export class Compiler {
  readonly #environment: Environment;
  readonly #compiled = new Map<Expression, Step>();
  /** The slot of each variable in scope, innermost last. */
  readonly #scopes: Map<string, number>[] = [];
  /** The declared variables that the expression uses, by slot. */
  readonly variables: string[] = [];
  #slots = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  compile(expression: Expression): Step {
    const known = this.#compiled.get(expression);
    if (known !== undefined) return known;
    const step = this.#compile(expression);
    this.#compiled.set(expression, step);
    return step;
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
      this.variables.push(name);
      this.#slots++;
    }
  }

  #compile(expression: Expression): Step {
    switch (expression.kind) {
      case 'literal': {
        const { value } = expression;
        return () => value;
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

  #identifier(expression: Identifier): Step {
    return this.#name(expression.name);
  }

  #name(written: string): Step {
    const isGlobal = written.startsWith('.');
    const name = isGlobal ? written.slice(1) : written;
    const slot = isGlobal ? this.variables.indexOf(name) : this.#slotOf(name);
    if (slot >= 0) {
      return (run) => {
        run.charge(1);
        return run.slots[slot]!;
      };
    }
    const known = this.#environment.typeNames.get(name) ?? this.#environment.structs.find(name);
    const type = new TypeValue(runtimeTypeName(known, name));
    return () => type;
  }

  #slotOf(name: string): number {
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const slot = this.#scopes[index]!.get(name);
      if (slot !== undefined) return slot;
    }
    return this.variables.indexOf(name);
  }

  #select(expression: Select): Step {
    if (expression.qualified !== undefined) return this.#name(expression.qualified);
    const operand = this.compile(expression.operand);
    const { field } = expression;
    if (expression.test) return this.#presence(operand, field);
    const cost = isAttribute(expression.operand) ? 1 : 2;
    const declared = this.#declaredField(expression.operand, field);
    const missing = new CelError(`no such key: ${field}`);
    return (run) => {
      const container = operand(run);
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

  #presence(operand: Step, field: string): Step {
    return (run) => {
      const container = operand(run);
      if (isError(container)) return container;
      const inner = container instanceof Optional ? container.value : container;
      if (inner === undefined) return false;
      if (inner instanceof StructValue) return inner.fields.has(field);
      if (!(inner instanceof MapValue)) return noSuchOverload;
      const found = inner.find(field);
      return found !== undefined && !isError(found);
    };
  }

  #call(expression: Call): Step {
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
        return constant === undefined ? compileCall(this, expression) : () => constant;
      }
    }
  }

  #optionalSelect(expression: Call): Step {
    const [operandExpression, fieldExpression] = expression.args as [Expression, Expression];
    const operand = this.compile(operandExpression);
    const field = this.compile(fieldExpression);
    const cost = isAttribute(operandExpression) ? 1 : 2;
    return (run) => {
      const container = operand(run);
      if (isError(container)) return container;
      const element = optionalElement(container, field(run));
      // A missing element was not qualified either, so it costs nothing.
      run.charge(element === Optional.none ? cost - 1 : cost);
      return element;
    };
  }

  /** `a.or(b)` and `a.orValue(b)`, which evaluate `b` only if `a` has no value. */
  #alternative(expression: Call): Step {
    const target = this.compile(expression.target!);
    const alternative = this.compile(expression.args[0]!);
    const isValue = expression.name === 'orValue';
    return (run) => {
      const first = target(run);
      if (isError(first)) return first;
      if (!(first instanceof Optional)) return noSuchOverload;
      if (first.value !== undefined) return isValue ? first.value : first;
      return alternative(run);
    };
  }

  #list(expression: ListLiteral): Step {
    const constant = constantList(expression);
    if (constant !== undefined) return () => constant;
    const elements = expression.elements.map((element) => this.compile(element));
    const { optional } = expression;
    return (run) => {
      run.charge(LIST_COST);
      const values: Value[] = [];
      for (let index = 0; index < elements.length; index++) {
        const value = elements[index]!(run);
        if (isError(value)) return value;
        if (optional.size > 0 && optional.has(index)) {
          if (!(value instanceof Optional)) {
            return new CelError(`cannot initialize optional list element from non-optional value ${printValue(value)}`);
          }
          if (value.value !== undefined) values.push(value.value);
        } else values.push(value);
      }
      return new ArrayList(values);
    };
  }

  #map(expression: MapLiteral): Step {
    const constant = constantMap(expression);
    if (constant !== undefined) return () => constant;
    const entries = expression.entries.map(({ key, value, optional }) => ({
      key: this.compile(key),
      value: this.compile(value),
      optional,
    }));
    return (run) => {
      run.charge(MAP_COST);
      const map = new EntryMap();
      for (const entry of entries) {
        const key = entry.key(run);
        if (isError(key)) return key;
        const value = unwrapped(entry.value(run), entry.optional, key);
        if (value === undefined) continue;
        if (isError(value)) return value;
        if (keyOf(key) === undefined) return new CelError(`unsupported key type: ${typeNameOf(key)}`);
        map.set(key, value);
      }
      return map;
    };
  }

  #struct(expression: StructLiteral): Step {
    const fields = expression.fields.map(({ name, value, optional }) => ({ name, value: this.compile(value), optional }));
    const typeName = expression.name.replace(/^\./, '');
    return (run) => {
      const made = new Map<string, Value>();
      for (const field of fields) {
        const value = unwrapped(field.value(run), field.optional, field.name);
        if (value === undefined) continue;
        if (isError(value)) return value;
        made.set(field.name, value);
      }
      run.charge(STRUCT_COST);
      return typeName === 'JSONPatch' ? operationOf(made) : new StructValue(typeName, made);
    };
  }
}

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
