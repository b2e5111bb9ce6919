import type { CompiledSchema, FieldError, JsonObject, Parts } from '@capstan/machinery';

/** Evaluates the CEL rules of a custom kind for an object. */
export interface RuleChecker {
  check(object: JsonObject, options: RuleOptions): Parts<FieldError[]>;
}

export interface RuleOptions {
  readonly old: JsonObject | undefined;
  /** Called for violations in unchanged values, which are allowed. */
  readonly warn: (message: string) => void;
}

/** Creates the checker of a schema; undefined if the schema has no rules. The name of the definition is for people. */
export type RuleCompiler = (schema: CompiledSchema, definition?: string) => RuleChecker | undefined;
