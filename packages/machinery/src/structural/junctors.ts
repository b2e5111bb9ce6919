import type { FieldError } from '../field/error.ts';
import * as fieldError from '../field/error.ts';
import type { Json } from '../json.ts';
import type { Run } from './run.ts';
import type { Schema } from './schema.ts';

/** The part of a validator used here. */
interface Inspector {
  inspect(value: Json, old: Json | undefined, run: Run): void;
}

type Compile = (schema: Schema) => Inspector;

interface Outcome {
  readonly errors: FieldError[];
  readonly matches: number;
}

/** Checks a value against `allOf`, `anyOf`, `oneOf` and `not`. */
export class Junctors {
  readonly #allOf: readonly Inspector[];
  readonly #anyOf: readonly Inspector[];
  readonly #oneOf: readonly Inspector[];
  readonly #not: Inspector | undefined;

  private constructor(schema: Schema, compile: Compile) {
    this.#allOf = schema.allOf.map(compile);
    this.#anyOf = schema.anyOf.map(compile);
    this.#oneOf = schema.oneOf.map(compile);
    this.#not = schema.not && compile(schema.not);
  }

  static of(schema: Schema, compile: Compile): Junctors | undefined {
    const { allOf, anyOf, oneOf, not } = schema;
    return allOf.length + anyOf.length + oneOf.length === 0 && not === undefined ? undefined : new Junctors(schema, compile);
  }

  check(value: Json, old: Json | undefined, run: Run): void {
    if (this.#anyOf.length > 0) this.#checkAny(value, old, run);
    if (this.#oneOf.length > 0) this.#checkOne(value, old, run);
    if (this.#allOf.length > 0) this.#checkAll(value, old, run);
    if (this.#not !== undefined && attempt(this.#not, value, old, run).errors.length === 0)
      report(run, `${fieldError.quote(run.name)} must not validate the schema (not)`);
  }

  #checkAny(value: Json, old: Json | undefined, run: Run): void {
    let best: Outcome | undefined;
    for (const validator of this.#anyOf) {
      const outcome = attempt(validator, value, old, run);
      if (outcome.errors.length === 0) {
        run.matches += outcome.matches;
        return;
      }
      if (best === undefined || outcome.matches > best.matches) best = outcome;
    }
    report(run, `${fieldError.quote(run.name)} must validate at least one schema (anyOf)`);
    merge(run, best!);
  }

  #checkOne(value: Json, old: Json | undefined, run: Run): void {
    let valid = 0;
    let first: Outcome | undefined;
    let best: Outcome | undefined;
    for (const validator of this.#oneOf) {
      const outcome = attempt(validator, value, old, run);
      if (outcome.errors.length === 0) {
        valid++;
        first ??= outcome;
        best = undefined;
      } else if (valid === 0 && (best === undefined || outcome.matches > best.matches)) best = outcome;
    }
    if (valid === 1) {
      run.matches += first!.matches;
      return;
    }
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    report(run, `${fieldError.quote(run.name)} must validate one and only one schema (oneOf). ${found}`);
    if (best !== undefined) merge(run, best);
  }

  #checkAll(value: Json, old: Json | undefined, run: Run): void {
    let valid = 0;
    for (const validator of this.#allOf) {
      const outcome = attempt(validator, value, old, run);
      if (outcome.errors.length === 0) valid++;
      merge(run, outcome);
    }
    if (valid === this.#allOf.length) return;
    report(run, `${fieldError.quote(run.name)} must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`);
  }
}

/** Runs a validator separately, so that the caller can keep or discard the outcome. */
function attempt(validator: Inspector, value: Json, old: Json | undefined, run: Run): Outcome {
  const { errors, matches } = run;
  run.errors = [];
  run.matches = 0;
  run.trying++;
  validator.inspect(value, old, run);
  run.trying--;
  const outcome = { errors: run.errors, matches: run.matches };
  run.errors = errors;
  run.matches = matches;
  return outcome;
}

function merge(run: Run, outcome: Outcome): void {
  for (const error of outcome.errors) run.add(error);
  run.matches += outcome.matches;
}

function report(run: Run, why: string): void {
  run.add(fieldError.invalid(run.root, '', why));
}
