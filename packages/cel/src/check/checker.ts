import type { ErrorList } from '../errors.ts';
import type { Overload } from '../library/function.ts';
import type { Call, Comprehension, Expression, ListLiteral, MapLiteral, Select, StructLiteral } from '../syntax/ast.ts';
import type { Type } from '../types/type.ts';
import * as types from '../types/type.ts';
import { assign, assignAll, mostGeneral, Substitutions, substitute } from '../types/unify.ts';
import { typeNameOf } from '../value/type-name.ts';
import type { Environment } from './environment.ts';
import { qualifiedName } from './qualified-name.ts';

const literalTypes = new Map<string, Type>([
  ['null_type', types.NULL],
  ['bool', types.BOOL],
  ['int', types.INT],
  ['uint', types.UINT],
  ['double', types.DOUBLE],
  ['string', types.STRING],
  ['bytes', types.BYTES],
]);

/** Determines the type of each subexpression and the functions that it calls; adds type errors to the list. */
export function check(expression: Expression, environment: Environment, errors: ErrorList): void {
  const checker = new Checker(environment, errors);
  checker.check(expression);
  checker.finish();
}

class Checker {
  readonly #environment: Environment;
  readonly #errors: ErrorList;
  /** Variables of comprehensions, innermost last. */
  readonly #scopes: Map<string, Type>[] = [];
  readonly #visited: Expression[] = [];
  readonly #known = new Substitutions();
  #variables = 0;

  constructor(environment: Environment, errors: ErrorList) {
    this.#environment = environment;
    this.#errors = errors;
  }

  /** Replaces type variables with their bindings. */
  finish(): void {
    for (const expression of this.#visited) expression.type = substitute(this.#known, expression.type!, true);
  }

  check(expression: Expression): Type {
    // Some macros use one node twice; the second time it already has its type.
    if (expression.type !== undefined) return expression.type;
    expression.type = this.#typeOf(expression);
    this.#visited.push(expression);
    return expression.type;
  }

  #typeOf(expression: Expression): Type {
    switch (expression.kind) {
      case 'literal':
        return literalTypes.get(typeNameOf(expression.value))!;
      case 'identifier':
        return this.#lookup(expression.name) ?? this.#undeclared(expression.name, expression.position);
      case 'select':
        return this.#select(expression);
      case 'call':
        return expression.name === '_?._' ? this.#optionalSelect(expression) : this.#call(expression);
      case 'list':
        return this.#list(expression);
      case 'map':
        return this.#map(expression);
      case 'struct':
        return this.#struct(expression);
      case 'comprehension':
        return this.#comprehension(expression);
    }
  }

  #lookup(name: string): Type | undefined {
    if (name.startsWith('.')) return this.#global(name.slice(1));
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const found = this.#scopes[index]!.get(name);
      if (found !== undefined) return found;
    }
    return this.#global(name);
  }

  #global(name: string): Type | undefined {
    const variable = this.#environment.variables.get(name);
    if (variable !== undefined) return variable.type;
    const type = this.#environment.typeNames.get(name) ?? this.#environment.structs.find(name);
    return type === undefined ? undefined : types.typeOf(type);
  }

  #undeclared(name: string, position: number): Type {
    this.#errors.add(`undeclared reference to '${name}' (in container '')`, position);
    return types.ERROR;
  }

  #select(expression: Select): Type {
    const name = expression.test ? undefined : qualifiedName(expression);
    const type = name === undefined ? undefined : this.#lookup(name);
    if (type !== undefined) {
      expression.qualified = name!;
      return type;
    }
    const result = this.#fieldType(expression.operand, expression.field, expression.position);
    return expression.test ? types.BOOL : result;
  }

  #optionalSelect(expression: Call): Type {
    const [operand, field] = expression.args as [Expression, Expression];
    this.check(field);
    const result = this.#fieldType(operand, (field as { value: string }).value, expression.position);
    return types.isOptional(result) ? result : types.optionalOf(result);
  }

  #fieldType(operand: Expression, field: string, position: number): Type {
    const operandType = substitute(this.#known, this.check(operand));
    const target = types.unwrapOptional(operandType);
    const result = this.#memberType(target, field, position);
    return target === operandType ? result : types.optionalOf(result);
  }

  #memberType(target: Type, field: string, position: number): Type {
    switch (target.kind) {
      case 'map':
        return target.value;
      case 'object': {
        if (target.isOpen === true) return types.DYN;
        if (target.fields === undefined) {
          this.#errors.add(`unexpected failed resolution of '${target.name}'`, position);
          return types.ERROR;
        }
        const found = target.fields.get(field);
        if (found !== undefined) return found.declaration.type;
        this.#errors.add(`undefined field '${field}'`, position);
        return types.ERROR;
      }
      case 'parameter':
        this.#assign(types.DYN, target);
        return types.DYN;
      default:
        if (target.kind !== 'dyn' && target.kind !== 'error') {
          this.#errors.add(`type '${types.printType(target)}' does not support field selection`, position);
        }
        return types.DYN;
    }
  }

  #call(expression: Call): Type {
    const { name, target, args, position } = expression;
    for (const argument of args) this.check(argument);
    const { functions } = this.#environment;
    if (target !== undefined) {
      const prefix = qualifiedName(target);
      const qualified = prefix === undefined ? undefined : `${prefix}.${name}`.replace(/^\./, '');
      const namespaced = qualified === undefined ? undefined : functions.get(qualified);
      if (namespaced !== undefined) {
        expression.qualified = qualified!;
        return this.#resolve(expression, namespaced, args);
      }
      this.check(target);
    }
    const overloads = functions.get(name.replace(/^\./, ''));
    if (overloads === undefined) return this.#undeclared(name, position);
    return this.#resolve(expression, overloads, target === undefined ? args : [target, ...args]);
  }

  #resolve(expression: Call, overloads: readonly Overload[], args: readonly Expression[]): Type {
    const isMethod = expression.target !== undefined && expression.qualified === undefined;
    if (expression.name === '_&&_' || expression.name === '_||_') return this.#logic(expression, overloads);
    const given = args.map((argument) => argument.type!);
    const chosen: Overload[] = [];
    let result: Type | undefined;
    for (const overload of overloads) {
      if (overload.isMember !== isMethod || overload.parameters.length !== given.length) continue;
      const fresh = this.#fresh(overload);
      const parameters = overload.parameters.map((parameter) => substitute(fresh, parameter));
      if (!assignAll(this.#known, given, parameters)) continue;
      chosen.push(overload);
      const type = substitute(this.#known, substitute(fresh, overload.result));
      if (result === undefined) result = type;
      else if (result.kind !== 'dyn' && !types.sameType(result, type)) result = types.DYN;
    }
    if (result === undefined) return this.#noOverload(expression, given, isMethod);
    expression.overloads = chosen;
    return result;
  }

  #noOverload(expression: Call, given: readonly Type[], isMethod: boolean): Type {
    const signature = types.printSignature(
      given.map((type) => substitute(this.#known, type, true)),
      isMethod,
    );
    const name = expression.qualified ?? expression.name;
    this.#errors.add(`found no matching overload for '${name}' applied to '${signature}'`, expression.position);
    return types.ERROR;
  }

  #logic(expression: Call, overloads: readonly Overload[]): Type {
    let isWrong = false;
    for (const argument of expression.args) {
      if (this.#assign(argument.type!, types.BOOL)) continue;
      this.#mismatch(types.BOOL, argument.type!, argument.position);
      isWrong = true;
    }
    expression.overloads = overloads;
    return isWrong ? types.ERROR : types.BOOL;
  }

  /** Fresh variables for the type parameters of an overload. */
  #fresh(overload: Overload): Substitutions {
    return new Substitutions(overload.variables.map((name) => [name, this.#newVariable()] as const));
  }

  #newVariable(): Type {
    return types.parameter(`_var${this.#variables++}`);
  }

  #assign(to: Type, from: Type): boolean {
    return assign(this.#known, to, from);
  }

  #mismatch(expected: Type, found: Type, position: number): void {
    this.#errors.add(`expected type '${types.printType(expected)}' but found '${types.printType(found)}'`, position);
  }

  /** The common type of all elements, or dyn; a later check rejects mixed literals where they are not allowed. */
  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    return this.#assign(previous, current) ? mostGeneral(previous, current) : types.DYN;
  }

  /** The type inside `?x`, which must be an optional. */
  #optionalPart(expression: Expression, isOptional: boolean): Type {
    const type = this.check(expression);
    if (!isOptional) return type;
    const inner = types.unwrapOptional(type);
    if (inner === type && type.kind !== 'dyn') this.#mismatch(types.optionalOf(type), type, expression.position);
    return inner;
  }

  #list(expression: ListLiteral): Type {
    let element: Type | undefined;
    for (const [index, item] of expression.elements.entries()) {
      element = this.#join(element, this.#optionalPart(item, expression.optional.has(index)));
    }
    return types.listOf(element ?? this.#newVariable());
  }

  #map(expression: MapLiteral): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of expression.entries) {
      key = this.#join(key, this.check(entry.key));
      value = this.#join(value, this.#optionalPart(entry.value, entry.optional));
    }
    return types.mapOf(key ?? this.#newVariable(), value ?? this.#newVariable());
  }

  #struct(expression: StructLiteral): Type {
    const name = expression.name.replace(/^\./, '');
    const made = this.#environment.structs.find(name);
    if (made === undefined) {
      const type = this.#lookup(name);
      if (type === undefined) return this.#undeclared(expression.name, expression.position);
      const isType = type.kind === 'type';
      const printed = types.printType(isType && type.of !== undefined ? type.of : type);
      this.#errors.add(`'${printed}' is not a ${isType ? 'message type' : 'type'}`, expression.position);
      return types.ERROR;
    }
    for (const field of expression.fields) {
      const given = this.#optionalPart(field.value, field.optional);
      const expected = this.#memberType(made, field.name, field.position);
      if (this.#assign(expected, given)) continue;
      const [wanted, found] = [types.printType(expected), types.printType(given)];
      this.#errors.add(`expected type of field '${field.name}' is '${wanted}' but provided type is '${found}'`, field.position);
    }
    return made;
  }

  #comprehension(expression: Comprehension): Type {
    const range = substitute(this.#known, this.check(expression.range));
    const accumulator = this.check(expression.initial);
    this.#scopes.push(new Map([[expression.accumulator, accumulator]]));
    this.#scopes.push(this.#loopVariables(expression, range));
    this.#expect(expression.condition, types.BOOL);
    this.#expect(expression.step, accumulator);
    this.#scopes.pop();
    const result = this.check(expression.result);
    this.#scopes.pop();
    return substitute(this.#known, result);
  }

  #expect(expression: Expression, type: Type): void {
    const found = this.check(expression);
    if (!this.#assign(type, found)) this.#mismatch(type, found, expression.position);
  }

  #loopVariables({ variable, secondVariable, range }: Comprehension, type: Type): Map<string, Type> {
    const [first, second] = this.#elementTypes(type, range.position);
    if (secondVariable === undefined) return new Map([[variable, type.kind === 'list' ? second : first]]);
    return new Map([
      [variable, first],
      [secondVariable, second],
    ]);
  }

  /** The types of the index or key and of the element or value. */
  #elementTypes(range: Type, position: number): [Type, Type] {
    switch (range.kind) {
      case 'list':
        return [types.INT, range.element];
      case 'map':
        return [range.key, range.value];
      case 'dyn':
      case 'error':
      case 'parameter':
        this.#assign(types.DYN, range);
        return [types.DYN, types.DYN];
      default: {
        const shown = types.printType(range);
        this.#errors.add(`expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`, position);
        return [types.ERROR, types.ERROR];
      }
    }
  }
}
