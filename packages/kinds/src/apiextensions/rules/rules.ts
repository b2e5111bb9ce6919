import type { CompiledSchema, FieldError, JsonObject } from '@capstan/machinery';

/** What rules in the expression language find in an object of a custom kind. */
export interface RuleChecker {
  check(object: JsonObject, options: RuleOptions): FieldError[];
}

export interface RuleOptions {
  readonly old: JsonObject | undefined;
  /** Told of what is wrong and was so before: that is let through. */
  readonly warn: (message: string) => void;
}

/** Makes the checker of a schema; undefined when the schema has no rules. */
export type RuleCompiler = (schema: CompiledSchema) => RuleChecker | undefined;
