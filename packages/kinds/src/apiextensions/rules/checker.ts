import { type Declaration, declarationOfSchema, escapeProperty, type StructuralSchema } from '@capstan/cel';
import {
  type CompiledSchema,
  type FieldError,
  FieldPath,
  isObject,
  type Json,
  oldItems,
  type Parts,
  type Schema,
} from '@capstan/machinery';
import { type CompiledRule, compileRules } from './compile.ts';
import { Correlation } from './correlation.ts';
import { Evaluation, type RuleBudget, type Subject } from './evaluate.ts';
import type { RuleChecker, RuleOptions } from './rules.ts';

const checkers = new WeakMap<CompiledSchema, { readonly checker: RuleChecker | undefined }>();

/** Returns the rules of a schema, compiled once for all users of the schema. */
export function rulesOf(compiled: CompiledSchema): RuleChecker | undefined {
  let known = checkers.get(compiled);
  if (known === undefined) checkers.set(compiled, (known = { checker: RuleTree.of(compiled.schema, { isResource: true }) }));
  return known.checker;
}

/** The rules of a schema and of all schemas nested in it. */
export class RuleTree implements RuleChecker {
  readonly #root: Node;

  private constructor(root: Node) {
    this.#root = root;
  }

  static of(schema: Schema, { isResource }: { isResource: boolean }): RuleTree | undefined {
    const declaration = declarationOfSchema(schema.json as StructuralSchema, { isResourceRoot: isResource });
    const root = makeNode(schema, declaration);
    return root && new RuleTree(root);
  }

  *check(object: Json, { old, warn, budget, at = FieldPath.of() }: CheckOptions): Parts<FieldError[]> {
    const evaluation = new Evaluation(warn, budget);
    const { schema } = this.#root;
    const correlation = old === undefined ? Correlation.none : Correlation.of(object, old, schema);
    yield* visit(this.#root, { value: object, old, schema, correlation }, { at, evaluation });
    return evaluation.errors;
  }
}

interface CheckOptions {
  readonly old: Json | undefined;
  readonly warn: RuleOptions['warn'];
  /** A budget of its own if undefined. */
  readonly budget?: RuleBudget;
  readonly at?: FieldPath;
}

/** A schema with rules, or with a nested schema that has some. */
interface Node {
  readonly schema: Schema;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, Node>;
  readonly additional: Node | undefined;
  readonly items: Node | undefined;
}

const stored = (): boolean => true;

function makeNode(schema: Schema, declaration: Declaration | undefined): Node | undefined {
  const rules = declaration === undefined ? [] : compileRules(schema, declaration, stored);
  const properties = new Map<string, Node>();
  for (const [name, property] of schema.properties) {
    const node = makeNode(property, declarationOf(name, property, declaration));
    if (node !== undefined) properties.set(name, node);
  }
  const additional = schema.additional?.schema && makeNode(schema.additional.schema, declaration?.element);
  const items = schema.items && makeNode(schema.items, declaration?.element);
  if (rules.length === 0 && properties.size === 0 && additional === undefined && items === undefined) return undefined;
  return { schema, rules, properties, additional, items };
}

/** A field whose name cannot be written in an expression is declared separately from its parent. */
export function declarationOf(name: string, schema: Schema, parent: Declaration | undefined): Declaration | undefined {
  const escaped = escapeProperty(name);
  if (escaped !== undefined) return parent?.fields?.get(escaped)?.declaration;
  return declarationOfSchema(schema.json as StructuralSchema, { isResourceRoot: schema.embeddedResource });
}

interface Visit {
  readonly at: FieldPath;
  readonly evaluation: Evaluation;
}

function* visit(node: Node, subject: Subject, { at, evaluation }: Visit): Parts<void> {
  const { value, old, correlation } = subject;
  if (value === null || evaluation.isOver) return;
  if (node.rules.length > 0) {
    const rest = evaluation.run(node.rules, at, { ...subject, old: old ?? undefined });
    if (rest !== undefined) yield* rest;
    if (evaluation.endsPart()) yield;
  }
  if (Array.isArray(value)) {
    if (node.items !== undefined) yield* visitItems(node, subject, { at, evaluation });
    return;
  }
  if (!isObject(value)) return;
  const before = isObject(old) ? old : undefined;
  for (const key of Object.keys(value)) {
    const property = node.properties.get(key);
    const inner = property ?? node.additional;
    if (inner === undefined || evaluation.isOver) continue;
    const was = before !== undefined && Object.hasOwn(before, key) ? before[key] : undefined;
    yield* visit(
      inner,
      { value: value[key]!, old: was, schema: inner.schema, correlation: correlation.key(key) },
      { at: property === undefined ? at.key(key) : at.child(key), evaluation },
    );
  }
}

function* visitItems({ items, schema }: Node, { value, old, correlation }: Subject, { at, evaluation }: Visit): Parts<void> {
  const before = oldItems(old, schema);
  for (const [index, item] of (value as Json[]).entries()) {
    if (evaluation.isOver) return;
    yield* visit(
      items!,
      { value: item, old: before(item), schema: items!.schema, correlation: correlation.item(item) },
      { at: at.index(index), evaluation },
    );
  }
}
