import { type Declaration, declare, typeDepth, type Value } from '@capstan/cel';
import { type Fields, textOf } from '@capstan/machinery';
import { declarationsFor, type Known } from './declarations.ts';
import { anything, type CompiledExpression, compileExpression } from './expression.ts';

/** Wraps a variable's value on its way into an expression: CEL values are not JSON, and null is a valid value. */
export class Held {
  readonly value: Value;
  constructor(value: Value) {
    this.value = value;
  }
}

/** A variable whose type is nested deeper is checked when it is used: types are compared part by part. */
const deepestType = 64;

/** The variables of a policy: each may use the ones before it and is computed on first use. */
export class Variables {
  readonly compiled = new Map<string, CompiledExpression>();
  readonly #known: Known;
  readonly #declared = declare.growingObject('kubernetes.variables');
  /** By what else is known, so that adding a variable does not list all others again. */
  readonly #declarations = new Map<string, ReadonlyMap<string, Declaration>>();

  constructor(known: Known) {
    this.#known = known;
  }

  static of(variables: readonly Fields[], known: Known): Variables {
    const result = new Variables(known);
    for (const variable of variables) result.add(textOf(variable['name']), textOf(variable['expression']));
    return result;
  }

  add(name: string, expression: string): CompiledExpression {
    const compiled = compileExpression(expression, this.#allOf(this.#known), anything);
    this.compiled.set(name, compiled);
    const type = compiled.program?.type;
    const read = (held: unknown): Value => (held as Held).value;
    this.#declared.add(name, {
      type: type === undefined || typeDepth(type) > deepestType ? declare.dyn.type : type,
      read,
      maximumSize: Number.MAX_SAFE_INTEGER,
      minimumBytes: 1,
    });
    return compiled;
  }

  /** The declarations for an expression that follows these variables. */
  declarations(known: Known = this.#known): ReadonlyMap<string, Declaration> {
    return this.compiled.size === 0 ? declarationsFor(known) : this.#allOf(known);
  }

  #allOf(known: Known): ReadonlyMap<string, Declaration> {
    const key = `${known.params}/${known.authorizer}`;
    let all = this.#declarations.get(key);
    if (all === undefined) {
      all = declarationsFor({ ...known, variables: this.#declared.declaration });
      this.#declarations.set(key, all);
    }
    return all;
  }
}
