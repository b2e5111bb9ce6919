import type { CompiledSchema, FieldError, JsonObject } from '@capstan/machinery';

/** What rules in the expression language find in an object of a custom kind. */
export interface RuleChecker {
  check(object: JsonObject, old: JsonObject | undefined): FieldError[];
}

/** Makes the checker of a schema; undefined when the schema has no rules. */
export type RuleCompiler = (schema: CompiledSchema) => RuleChecker | undefined;
