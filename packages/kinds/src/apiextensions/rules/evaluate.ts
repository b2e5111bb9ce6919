import { COST_PER_CALL, COST_PER_OBJECT, type Outcome, type Program } from '@capstan/cel';
import { type FieldError, FieldPath, fieldError, type Json, type Parts, type Schema, type ValidationRule } from '@capstan/machinery';
import type { CompiledRule } from './compile.ts';
import type { Correlation } from './correlation.ts';

/** Longer messages are replaced by the rule's fixed one. */
const longestMessage = 5 * 1024;

/** The work that the rules may still do, for one object or for several together. */
export class RuleBudget {
  left = COST_PER_OBJECT;
}

/** After so much work, others may run. Expressions whose parts cost nothing count by their size. */
const workPerPart = 20_000;

/** A single check of one object. */
export class Evaluation {
  readonly errors: FieldError[] = [];
  readonly #warn: (message: string) => void;
  readonly #budget: RuleBudget;
  #workInPart = 0;

  constructor(warn: (message: string) => void, budget = new RuleBudget()) {
    this.#warn = warn;
    this.#budget = budget;
  }

  /** True once the budget is used up; nothing more is evaluated. */
  get isOver(): boolean {
    return this.#budget.left < 0;
  }

  /** Whether much was evaluated since this was last true. */
  endsPart(): boolean {
    if (this.#workInPart < workPerPart) return false;
    this.#workInPart = 0;
    return true;
  }

  /** Runs the rules of one value; returns the rest of the work, in parts, unless all rules are soon found to hold. */
  run(rules: readonly CompiledRule[], at: FieldPath, subject: Subject): Parts<void> | undefined {
    const place = at.toString() === '' ? FieldPath.of('<nil>') : at;
    if (this.#budget.left <= 0) {
      this.#stop(fieldError.invalid(place, subject.schema.type, exhausted));
      return undefined;
    }
    for (let index = 0; index < rules.length; index++) {
      if (this.isOver) return undefined;
      if (!this.#holds(rules[index]!, subject)) return this.#runInParts(rules.slice(index), { at, place }, subject);
    }
    return undefined;
  }

  /** Whether a rule is soon found to hold. Otherwise, nothing has been counted. */
  #holds(compiled: CompiledRule, subject: Subject): boolean {
    if (isSkipped(compiled, subject)) return true;
    const { program } = compiled;
    const outcome = program?.attempt(bindingsOf(compiled, subject), { costLimit: COST_PER_CALL });
    if (outcome?.value !== true || outcome.work > this.#budget.left) return false;
    this.#spend(outcome, program!);
    return true;
  }

  *#runInParts(rules: readonly CompiledRule[], { at, place }: Places, subject: Subject): Parts<void> {
    const { type } = subject.schema;
    for (const compiled of rules) {
      if (this.isOver) return;
      if (compiled.error !== undefined) this.errors.push(fieldError.invalid(place, type, `rule compile error: ${compiled.error}`));
      else if (!isSkipped(compiled, subject)) yield* this.#runRule(compiled, { at, place }, subject);
    }
  }

  *#runRule(compiled: CompiledRule, { at, place }: Places, subject: Subject): Parts<void> {
    const { rule, program, usesOldSelf } = compiled;
    const { schema } = subject;
    const bindings = bindingsOf(compiled, subject);
    const outcome = yield* evaluated(program!, bindings);
    if (outcome.work > this.#budget.left) return this.#stop(fieldError.invalid(place, schema.type, exhausted));
    this.#spend(outcome, program!);
    if (outcome.error !== undefined) return this.#failed(outcome, rule, { place, type: schema.type });
    if (outcome.value === true) return;
    const target = compiled.fieldPath === '' ? place : at.child(compiled.fieldPath.replace(/^\./, ''));
    const why = yield* this.#messageOf(compiled, bindings, { place: target, type: schema.type });
    if (why === undefined) return;
    const error = refusal(target, schema.type, { rule, why });
    if (!usesOldSelf && subject.correlation.isUnchanged) this.#warn(`${error.field}: ${error.body}`);
    else this.errors.push(error);
  }

  #failed(outcome: { error: string; isCostExceeded: boolean }, rule: ValidationRule, { place, type }: Place): void {
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
  *#messageOf({ rule, message }: CompiledRule, bindings: RuleBindings, { place, type }: Place): Parts<string | undefined> {
    const fixed = rule.message === '' ? `failed rule: ${shown(rule)}` : rule.message.trim();
    if (message === undefined) return fixed;
    const outcome = yield* evaluated(message, bindings);
    if (outcome.work > this.#budget.left || (outcome.error !== undefined && outcome.isCostExceeded)) {
      const why =
        outcome.work > this.#budget.left
          ? 'messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run'
          : `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${fieldError.quote(rule.messageExpression)}`;
      this.#stop(fieldError.invalid(place, type, why));
      return undefined;
    }
    this.#spend(outcome, message);
    const text = typeof outcome.value === 'string' ? outcome.value.trim() : '';
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > longestMessage ? fixed : text;
  }

  #spend({ work }: Outcome, { size }: Program): void {
    this.#budget.left -= work;
    this.#workInPart += work + size;
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.#budget.left = -1;
  }
}

/** The place of a value; where that is the whole object, errors name it differently. */
interface Places {
  readonly at: FieldPath;
  readonly place: FieldPath;
}

/** The place and the type of an error. */
interface Place {
  readonly place: FieldPath;
  readonly type: string;
}

type RuleBindings = Readonly<Record<'self' | 'oldSelf', Json | undefined>>;

/** A rule that compares with the old value does not concern a new one. */
function isSkipped({ rule, usesOldSelf }: CompiledRule, { old }: Subject): boolean {
  return usesOldSelf && old === undefined && rule.optionalOldSelf !== true;
}

function bindingsOf({ rule }: CompiledRule, { value, old }: Subject): RuleBindings {
  return { self: value, oldSelf: old ?? (rule.optionalOldSelf === true ? null : undefined) };
}

function* evaluated(program: Program, bindings: RuleBindings): Parts<Outcome> {
  const options = { costLimit: COST_PER_CALL };
  return program.attempt(bindings, options) ?? (yield* program.evaluateInParts(bindings, options));
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
