import {
  type Binding,
  CelError,
  COST_PER_CALL,
  LazyFields,
  leaveAttempt,
  type Outcome,
  type Program,
  type Task,
  type Value,
} from '@capstan/cel';
import type { CompiledExpression } from '@capstan/kinds';
import { Held } from '@capstan/kinds';
import type { JsonObject, Parts } from '@capstan/machinery';

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

/** After so much work, others may run. Expressions whose parts cost nothing count by their size. */
const workPerPart = 20_000;
/** Variables of this size together are computed in an attempt; each counts a little more, because it takes an evaluation of its own. */
const mostAtOnce = 2_500;
const sizeOfVariable = 50;

export type Bindings = Readonly<Record<string, Binding>>;

/** The values of no variables. */
const nothing = new Map<string, never>();

/** Evaluates the expressions of one policy for one request. */
export class Evaluation {
  readonly #bindings: Bindings;
  readonly #variables: ReadonlyMap<string, CompiledExpression>;
  readonly #computed: Map<string, Held>;
  /** The variables that the latest attempt has computed. They are forgotten if it is left. */
  readonly #attempted: string[] = [];
  /** So much more may it compute. */
  #room = 0;
  #left: number;
  #workInPart = 0;

  constructor(bindings: Bindings, variables: ReadonlyMap<string, CompiledExpression>, budget: number) {
    this.#left = budget;
    this.#variables = variables;
    this.#computed = variables.size === 0 ? nothing : new Map();
    this.#bindings = variables.size === 0 ? bindings : { ...bindings, variables: this.#lazily() };
  }

  /** Evaluates an expression, in parts if it takes long. */
  *evaluate(expression: CompiledExpression): Parts<Evaluated> {
    return this.attempt(expression) ?? (yield* this.inParts(expression));
  }

  /** Evaluates an expression at once; undefined if it is to be evaluated in parts, as if it had not been attempted. */
  attempt(expression: CompiledExpression): Evaluated | undefined {
    const { program } = expression;
    if (program === undefined) return uncompiled(expression);
    const left = this.#left;
    this.#room = mostAtOnce;
    this.#attempted.length = 0;
    let outcome: Outcome | undefined;
    try {
      outcome = program.attempt(this.#bindings, options);
    } finally {
      this.#room = 0;
    }
    if (outcome !== undefined) return this.#take(expression, outcome);
    for (const name of this.#attempted) this.#computed.delete(name);
    this.#left = left;
    return undefined;
  }

  *inParts(expression: CompiledExpression): Parts<Evaluated> {
    const { program } = expression;
    if (program === undefined) return uncompiled(expression);
    return this.#take(expression, yield* program.evaluateInParts(this.#bindings, options));
  }

  /** Whether much was evaluated since this was last true. */
  endsPart(): boolean {
    if (this.#workInPart < workPerPart) return false;
    this.#workInPart = 0;
    return true;
  }

  #take({ source, program }: CompiledExpression, outcome: Outcome): Evaluated {
    this.#spend(outcome.work);
    this.#workInPart += program!.size;
    if (outcome.error === undefined) return { value: outcome.value };
    return { error: `expression '${source}' resulted in error: ${outcome.error}` };
  }

  #spend(work: number): void {
    this.#left -= work;
    this.#workInPart += work;
    if (this.#left < 0) throw new OutOfBudget();
  }

  #lazily(): JsonObject {
    const computation = { at: (name: string) => this.#valueOf(name), inParts: (name: string) => this.#taskOf(name) };
    return new LazyFields(this.#variables.keys(), computation) as unknown as JsonObject;
  }

  #valueOf(name: string): Held {
    const known = this.#computed.get(name);
    if (known !== undefined) return known;
    const { program } = this.#variables.get(name)!;
    if (program === undefined) return this.#keep(name, undefined);
    const soon = this.#isSoon(program) ? program.attempt(this.#bindings, options) : undefined;
    if (soon === undefined) leaveAttempt();
    return this.#keep(name, soon ?? program.evaluate(this.#bindings, options));
  }

  /** Whether another variable may be computed in this attempt, if there is one. */
  #isSoon({ size }: Program): boolean {
    this.#room -= sizeOfVariable + size;
    return this.#room >= 0;
  }

  #taskOf(name: string): Task | undefined {
    const program = this.#variables.get(name)?.program;
    if (program === undefined || this.#computed.has(name)) return undefined;
    return program.task(this.#bindings, { ...options, take: (outcome) => void this.#keep(name, outcome) });
  }

  /** Remembers the value of a variable; undefined if it does not compile. */
  #keep(name: string, outcome: Outcome | undefined): Held {
    if (outcome !== undefined) this.#spend(outcome.work);
    const held = new Held(this.#resultOf(name, outcome));
    this.#computed.set(name, held);
    this.#attempted.push(name);
    return held;
  }

  #resultOf(name: string, outcome: Outcome | undefined): Value {
    const failure = `composited variable "${name}" fails to`;
    if (outcome === undefined) return new CelError(`${failure} compile: ${this.#variables.get(name)!.error}`);
    return outcome.error === undefined ? outcome.value : new CelError(`${failure} evaluate: ${outcome.error}`);
  }
}

const options = { costLimit: COST_PER_CALL };

function uncompiled({ error }: CompiledExpression): Evaluated {
  return { error: `compilation error: ${error}` };
}
