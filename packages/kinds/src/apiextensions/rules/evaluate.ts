import { COST_PER_CALL, COST_PER_OBJECT } from '@capstan/cel';
import { type FieldError, FieldPath, fieldError, type Json, type Schema, type ValidationRule } from '@capstan/machinery';
import type { CompiledRule } from './compile.ts';
import type { Correlation } from './correlation.ts';

/** Longer messages are replaced by the rule's fixed one. */
const longestMessage = 5 * 1024;

/** The work that the rules may still do, for one object or for several together. */
export class RuleBudget {
  left = COST_PER_OBJECT;
}

/** After so much work, others may run. */
const workPerPart = 50_000;

/** A single check of one object. */
export class Evaluation {
  readonly errors: FieldError[] = [];
  readonly #warn: (message: string) => void;
  readonly #budget: RuleBudget;
  #partEnds: number;

  constructor(warn: (message: string) => void, budget = new RuleBudget()) {
    this.#warn = warn;
    this.#budget = budget;
    this.#partEnds = budget.left - workPerPart;
  }

  /** True once the budget is used up; nothing more is evaluated. */
  get isOver(): boolean {
    return this.#budget.left < 0;
  }

  /** Whether much was evaluated since this was last true. */
  endsPart(): boolean {
    if (this.#budget.left > this.#partEnds) return false;
    this.#partEnds = this.#budget.left - workPerPart;
    return true;
  }

  /** Runs the rules of one value. */
  run(rules: readonly CompiledRule[], at: FieldPath, subject: Subject): void {
    const place = at.toString() === '' ? FieldPath.of('<nil>') : at;
    const { type } = subject.schema;
    if (this.#budget.left <= 0) return this.#stop(fieldError.invalid(place, type, exhausted));
    for (const compiled of rules) {
      if (this.isOver) return;
      if (compiled.error !== undefined) this.errors.push(fieldError.invalid(place, type, `rule compile error: ${compiled.error}`));
      else this.#runRule(compiled, { at, place }, subject);
    }
  }

  #runRule(compiled: CompiledRule, { at, place }: { at: FieldPath; place: FieldPath }, subject: Subject): void {
    const { rule, program, usesOldSelf } = compiled;
    const { value, old, schema } = subject;
    if (usesOldSelf && old === undefined && rule.optionalOldSelf !== true) return;
    const bindings = { self: value, oldSelf: old ?? (rule.optionalOldSelf === true ? null : undefined) };
    const outcome = program!.evaluate(bindings, { costLimit: COST_PER_CALL });
    if (outcome.work > this.#budget.left) return this.#stop(fieldError.invalid(place, schema.type, exhausted));
    this.#budget.left -= outcome.work;
    if (outcome.error !== undefined) return this.#failed(outcome, rule, { place, type: schema.type });
    if (outcome.value === true) return;
    const target = compiled.fieldPath === '' ? place : at.child(compiled.fieldPath.replace(/^\./, ''));
    const why = this.#messageOf(compiled, bindings, { place: target, type: schema.type });
    if (why === undefined) return;
    const error = refusal(target, schema.type, { rule, why });
    if (!usesOldSelf && subject.correlation.isUnchanged) this.#warn(`${error.field}: ${error.body}`);
    else this.errors.push(error);
  }

  #failed(
    outcome: { error: string; isCostExceeded: boolean },
    rule: ValidationRule,
    { place, type }: { place: FieldPath; type: string },
  ): void {
    const { error } = outcome;
    if (outcome.isCostExceeded) {
      const why = `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown(rule)}`;
      return this.#stop(fieldError.invalid(place, type, why));
    }
    const why = error.startsWith('no such overload')
      ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${shown(rule)}`
      : `${error} evaluating rule: ${shown(rule)}`;
    this.errors.push(fieldError.invalid(place, type, why));
  }

  /** The rule's own message, or a fixed one if it cannot be evaluated; undefined if evaluating it used up the budget. */
  #messageOf(
    { rule, message }: CompiledRule,
    bindings: { self: Json; oldSelf: Json | undefined },
    { place, type }: { place: FieldPath; type: string },
  ): string | undefined {
    const fixed = rule.message === '' ? `failed rule: ${shown(rule)}` : rule.message.trim();
    if (message === undefined) return fixed;
    const outcome = message.evaluate(bindings, { costLimit: COST_PER_CALL });
    if (outcome.work > this.#budget.left || (outcome.error !== undefined && outcome.isCostExceeded)) {
      const why =
        outcome.work > this.#budget.left
          ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
          : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${fieldError.quote(rule.messageExpression)}`;
      this.#stop(fieldError.invalid(place, type, why));
      return undefined;
    }
    this.#budget.left -= outcome.work;
    const text = typeof outcome.value === 'string' ? outcome.value.trim() : '';
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > longestMessage ? fixed : text;
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.#budget.left = -1;
  }
}

const exhausted = 'validation failed due to running out of cost budget, no further validation rules will be run';

export interface Subject {
  readonly value: Json;
  /** Undefined if there is no old value, or none that certainly corresponds to this one. */
  readonly old: Json | undefined;
  readonly schema: Schema;
  readonly correlation: Correlation;
}

function shown({ message, rule }: ValidationRule): string {
  return (message === '' ? rule : message).trim();
}

function refusal(at: FieldPath, type: string, { rule, why }: { rule: ValidationRule; why: string }): FieldError {
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return fieldError.forbidden(at, why);
    case 'FieldValueRequired':
      return fieldError.required(at, why);
    case 'FieldValueDuplicate':
      return fieldError.duplicate(at, type);
    default:
      return fieldError.invalid(at, type, why);
  }
}
