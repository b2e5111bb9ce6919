import { type Binding, CelError, COST_PER_CALL, type Value } from '@capstan/cel';
import type { CompiledExpression } from '@capstan/kinds';
import { Held } from '@capstan/kinds';
import type { JsonObject } from '@capstan/machinery';

/** The cost limit for all conditions and validations of one policy and one request. */
export const costOfValidations = 10_000_000;
export const costOfConditions = 2_500_000;

export type Evaluated = { readonly value: Value; readonly error?: undefined } | { readonly value?: undefined; readonly error: string };

/** Thrown when the expressions exceed their combined cost limit; none of their results count. */
export class OutOfBudget extends Error {
  override readonly name = 'OutOfBudget';

  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run');
  }
}

/** After so much work, others may run. */
const workPerPart = 50_000;

export type Bindings = Readonly<Record<string, Binding>>;

/** Evaluates the expressions of one policy for one request. */
export class Evaluation {
  readonly #bindings: Bindings;
  #left: number;
  #partEnds: number;

  constructor(bindings: Bindings, variables: ReadonlyMap<string, CompiledExpression>, budget: number) {
    this.#left = budget;
    this.#partEnds = budget - workPerPart;
    this.#bindings = variables.size === 0 ? bindings : { ...bindings, variables: this.#lazily(variables) };
  }

  evaluate(expression: CompiledExpression): Evaluated {
    if (expression.program === undefined) return { error: `compilation error: ${expression.error}` };
    const outcome = expression.program.evaluate(this.#bindings, { costLimit: COST_PER_CALL });
    this.#spend(outcome.work);
    if (outcome.error === undefined) return { value: outcome.value };
    return { error: `expression '${expression.source}' resulted in error: ${outcome.error}` };
  }

  /** Whether much was evaluated since this was last true. */
  endsPart(): boolean {
    if (this.#left > this.#partEnds) return false;
    this.#partEnds = this.#left - workPerPart;
    return true;
  }

  #spend(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new OutOfBudget();
  }

  #lazily(variables: ReadonlyMap<string, CompiledExpression>): JsonObject {
    const holder = {};
    for (const [name, expression] of variables) {
      let held: Held | undefined;
      Object.defineProperty(holder, name, { enumerable: true, get: () => (held ??= new Held(this.#valueOf(name, expression))) });
    }
    return holder;
  }

  #valueOf(name: string, { program, error }: CompiledExpression): Value {
    if (program === undefined) return new CelError(`composited variable "${name}" fails to compile: ${error}`);
    const outcome = program.evaluate(this.#bindings, { costLimit: COST_PER_CALL });
    this.#spend(outcome.work);
    return outcome.error === undefined ? outcome.value : new CelError(`composited variable "${name}" fails to evaluate: ${outcome.error}`);
  }
}
