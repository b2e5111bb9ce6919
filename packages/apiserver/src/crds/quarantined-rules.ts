import type { RuleChecker, RuleCompiler } from '@capstan/kinds';
import { type CompiledSchema, FieldPath, fieldError } from '@capstan/machinery';
import { type Evaluated, type Held, printHeld, type Quarantine } from '../registry/quarantine.ts';
import type { Definition } from './definition.ts';
import { isOwnSchema } from './own-schemas.ts';

/**
 * The same rules, unless the server has stopped while it evaluated them: then every object is rejected. Those of our own kinds are always evaluated:
 * all tenants depend on them, nobody outside wrote them, and a busy server that is killed has often just evaluated one of them.
 */
export function quarantinedRules(rules: RuleCompiler, quarantine: Quarantine): RuleCompiler {
  return (schema, definition = '') => {
    const checker = rules(schema, definition);
    return checker && (isOwnSchema(schema) ? checker : watched(checker, quarantine, evaluatedRules(schema, definition)));
  };
}

function watched(checker: RuleChecker, quarantine: Quarantine, evaluated: Evaluated): RuleChecker {
  return {
    *check(object, options) {
      const held = quarantine.held(evaluated.identity);
      if (held !== undefined) return [fieldError.forbidden(FieldPath.of('<nil>'), printHeld(held))];
      return yield* quarantine.watch(evaluated, checker.check(object, options));
    },
  };
}

/** Definitions with the same schema share its rules. */
function evaluatedRules({ hash }: CompiledSchema, definition: string): Evaluated {
  return { identity: `schema ${hash}`, name: `the rules of the CustomResourceDefinition ${JSON.stringify(definition)}` };
}

/** The entry of a definition whose rules are quarantined in one of its versions. */
export function heldRules(definition: Definition, quarantine: Quarantine): Held | undefined {
  if (quarantine.isEmpty) return undefined;
  for (const { name } of definition.summary.versions) {
    const held = quarantine.held(evaluatedRules(definition.schema(name), '').identity);
    if (held !== undefined) return held;
  }
  return undefined;
}
