import {
  COST_PER_DEFINITION,
  COST_PER_RULE,
  type Declaration,
  declarationOfSchema,
  overBudgetMessage,
  type StructuralSchema,
} from '@capstan/cel';
import {
  endsPart,
  type FieldError,
  type FieldPath,
  fieldError,
  type Json,
  type JsonObject,
  type Parts,
  readSchemaInParts,
  type Schema,
  type ValidationRule,
} from '@capstan/machinery';
import { declarationOf, RuleTree } from './checker.ts';
import { type CompiledRule, compileRule } from './compile.ts';
import { RuleBudget } from './evaluate.ts';

const requestBytes = 3 * 1024 * 1024;

/** Limits the total length of a schema's rules, since compiling them blocks all other requests. */
const mostCharacters = 128 * 1024;

/**
 * Validates the rules of a schema that has no other errors: rules that do not compile or may cost too much are reported. In parts: to
 * compile a rule takes some ten microseconds, and there may be thousands.
 */
export function* ruleErrors(json: JsonObject, at: FieldPath, isStored: (expression: string) => boolean): Parts<FieldError[]> {
  const schema = yield* readSchemaInParts(json);
  if (!hasRules(schema)) return [];
  const length = lengthOfRules(schema);
  if (length > mostCharacters)
    return [fieldError.forbidden(at, `the rules of the schema have ${length} characters together, and ${mostCharacters} is the limit`)];
  const walk = new Walk(isStored);
  const declaration = declarationOfSchema(json as StructuralSchema, { isResourceRoot: true });
  yield;
  yield* walk.visit(schema, declaration, { at, cardinality: 1, uncorrelated: undefined });
  return [...walk.errors, ...walk.totalErrors(at), ...(walk.errors.length === 0 ? yield* defaultErrors(schema, at) : [])];
}

/** A cheap check, since most schemas have no rules. */
function hasRules(schema: Schema): boolean {
  if (schema.rules.length > 0) return true;
  if ((schema.items && hasRules(schema.items)) || (schema.additional?.schema && hasRules(schema.additional.schema))) return true;
  for (const property of schema.properties.values()) if (hasRules(property)) return true;
  return false;
}

function lengthOfRules({ rules, items, additional, properties }: Schema): number {
  let length = rules.reduce((sum, { rule, messageExpression }) => sum + rule.length + messageExpression.length, 0);
  for (const inner of [items, additional?.schema, ...properties.values()]) if (inner !== undefined) length += lengthOfRules(inner);
  return length;
}

interface Place {
  readonly at: FieldPath;
  /** How many times the value can occur; undefined if unlimited. */
  readonly cardinality: number | undefined;
  /** The list on the path to this value whose items cannot be matched with old ones. */
  readonly uncorrelated: FieldPath | undefined;
}

class Walk {
  readonly errors: FieldError[] = [];
  readonly #isStored: (expression: string) => boolean;
  #total = 0;
  #expensive: { readonly at: FieldPath; readonly cost: number }[] = [];

  constructor(isStored: (expression: string) => boolean) {
    this.#isStored = isStored;
  }

  *visit(schema: Schema, declaration: Declaration | undefined, place: Place): Parts<void> {
    const { at } = place;
    if (endsPart()) yield;
    const cardinality = inside(schema, place.cardinality);
    if (schema.additional?.schema !== undefined)
      yield* this.visit(schema.additional.schema, declaration?.element, { ...place, at: at.child('additionalProperties'), cardinality });
    for (const [name, property] of schema.properties)
      yield* this.visit(property, declarationOf(name, property, declaration), {
        ...place,
        at: at.child('properties').key(name),
        cardinality,
      });
    if (schema.items !== undefined) {
      const uncorrelated = place.uncorrelated ?? (schema.listType === 'map' ? undefined : at);
      yield* this.visit(schema.items, declaration?.element, { at: at.child('items'), cardinality, uncorrelated });
    }
    if (schema.rules.length > 0 && declaration !== undefined) yield* this.#checkRules(schema, declaration, place);
  }

  *#checkRules(schema: Schema, declaration: Declaration, place: Place): Parts<void> {
    const times = place.cardinality ?? Math.trunc(requestBytes / (declaration.minimumBytes + 1));
    for (const [index, rule] of schema.rules.entries()) {
      const compiled = compileRule(rule, schema, { self: declaration, isStored: this.#isStored });
      this.#checkRule(compiled, place.at.child('x-kubernetes-validations').index(index), { times, uncorrelated: place.uncorrelated });
      // To compile a rule takes as long as dozens of values.
      yield;
    }
  }

  #checkRule(compiled: CompiledRule, at: FieldPath, { times, uncorrelated }: { times: number; uncorrelated: FieldPath | undefined }): void {
    const { rule, program, message } = compiled;
    if (program !== undefined) this.#checkCost(program.estimateCost().max * times, 'estimated rule cost', at.child('rule'));
    if (compiled.error !== undefined) this.errors.push(fieldError.invalid(at.child('rule'), goRule(rule), compiled.error));
    if (compiled.messageError !== undefined)
      this.errors.push(fieldError.invalid(at.child('messageExpression'), goRule(rule), compiled.messageError));
    else if (message !== undefined)
      this.#checkCost(message.estimateCost().max, 'estimated messageExpression cost', at.child('messageExpression'));
    if (compiled.usesOldSelf && uncorrelated !== undefined) {
      const why = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated.toString()}`;
      this.errors.push(fieldError.invalid(at.child('rule'), rule.rule, why));
    } else if (!compiled.usesOldSelf && rule.optionalOldSelf !== undefined) {
      this.errors.push(
        fieldError.invalid(at.child('optionalOldSelf'), rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
      );
    }
  }

  #checkCost(cost: number, what: string, at: FieldPath): void {
    if (cost > COST_PER_RULE) this.errors.push(fieldError.forbidden(at, overBudgetMessage(what, cost, COST_PER_RULE)));
    this.#total += cost;
    if (cost < COST_PER_DEFINITION / 100) return;
    this.#expensive.push({ at, cost });
    this.#expensive = this.#expensive.sort((a, b) => b.cost - a.cost).slice(0, 4);
  }

  totalErrors(at: FieldPath): FieldError[] {
    if (this.#total <= COST_PER_DEFINITION) return [];
    const part = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const all = overBudgetMessage(
      'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
      this.#total,
      COST_PER_DEFINITION,
    );
    return [...this.#expensive.map(({ at: place }) => fieldError.forbidden(place, part)), fieldError.forbidden(at, all)];
  }
}

function inside(schema: Schema, cardinality: number | undefined): number | undefined {
  const most =
    schema.type === 'array' ? schema.maxItems : schema.type === 'object' && schema.additional !== undefined ? schema.maxProperties : 1;
  return cardinality === undefined || most === undefined ? undefined : cardinality * Math.max(0, most);
}

/** Converts a rule to the form in which Go prints it. */
function goRule({ rule, message, messageExpression, reason, fieldPath, optionalOldSelf }: ValidationRule): object {
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason ?? null,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ?? null,
  };
}

/** The steps that checking the defaults of a definition may take. The rules inside a default are compiled once more for each default around them. */
class DefaultEffort {
  readonly rules = new RuleBudget();
  #characters = 0;

  /** False if the rules of this schema are too many to compile again. */
  allows(schema: Schema): boolean {
    this.#characters += lengthOfRules(schema);
    return this.#characters <= 2 * mostCharacters && this.rules.left > 0;
  }
}

/** Defaults must satisfy the rules too, both when created and when unchanged. */
function* defaultErrors(schema: Schema, at: FieldPath, effort = new DefaultEffort()): Parts<FieldError[]> {
  const errors: FieldError[] = [];
  if (endsPart()) yield;
  const ignore = (): void => {};
  const value = schema.default;
  if (value !== undefined) {
    const place = at.child('default');
    if (!effort.allows(schema)) return [fieldError.forbidden(place, 'the rules for the defaults of the schema take too long to check')];
    const tree = RuleTree.of(schema, { isResource: schema.embeddedResource });
    const found = function* (old: Json | undefined): Parts<FieldError[]> {
      return tree === undefined ? [] : yield* tree.check(value, { old, warn: ignore, budget: effort.rules, at: place });
    };
    const kept = yield* found(value);
    errors.push(...(kept.length > 0 ? kept : yield* found(undefined)));
  }
  if (schema.items !== undefined) errors.push(...(yield* defaultErrors(schema.items, at.child('items'), effort)));
  for (const [name, property] of schema.properties)
    errors.push(...(yield* defaultErrors(property, at.child('properties').key(name), effort)));
  return errors;
}
