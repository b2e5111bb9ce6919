import { compile, type Declaration, declare, type Program } from '@capstan/cel';
import { BadFieldReference, resolveFieldReference, type Schema, type ValidationRule } from '@capstan/machinery';

/** A compiled rule, or the reason it did not compile. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Program | undefined;
  readonly error: string | undefined;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  /** True for a transition rule: it compares with the old value. */
  readonly usesOldSelf: boolean;
  /** The path that an error points to, relative to the value with the rule. */
  readonly fieldPath: string;
}

/**
 * Compiles the rules of a schema. `isStored` marks expressions that are stored already; these may use features that are not allowed in new
 * ones yet.
 */
export function compileRules(schema: Schema, self: Declaration, isStored: (expression: string) => boolean): CompiledRule[] {
  return schema.rules.map((rule) => compileRule(rule, schema, { self, isStored }));
}

interface RuleScope {
  readonly self: Declaration;
  readonly isStored: (expression: string) => boolean;
}

export function compileRule(rule: ValidationRule, schema: Schema, { self, isStored }: RuleScope): CompiledRule {
  const variables = new Map([
    ['self', self],
    ['oldSelf', rule.optionalOldSelf === true ? declare.optional(self) : self],
  ]);
  const made = (source: string, type: string, wrong: { prefix: string; otherType: string }): { program?: Program; error?: string } => {
    const compiled = compile(source, { variables, isStored: isStored(source) });
    if (compiled.program === undefined) return { error: `${wrong.prefix}${compiled.stage} failed: ${compiled.message}` };
    return compiled.program.typeName === type ? { program: compiled.program } : { error: wrong.otherType };
  };
  const main = made(rule.rule, 'bool', { prefix: '', otherType: 'cel expression must evaluate to a bool' });
  const wording =
    rule.messageExpression === '' || main.program === undefined
      ? {}
      : made(rule.messageExpression, 'string', {
          prefix: 'messageExpression ',
          otherType: 'messageExpression must evaluate to a string',
        });
  return {
    rule,
    program: main.program,
    error: main.error,
    message: wording.program,
    messageError: wording.error,
    usesOldSelf: main.program?.uses('oldSelf') === true,
    fieldPath: fieldPathOf(rule, schema),
  };
}

function fieldPathOf({ fieldPath }: ValidationRule, schema: Schema): string {
  if (fieldPath === '') return '';
  try {
    return resolveFieldReference(fieldPath, schema, { brackets: true }).path.toString();
  } catch (error) {
    if (error instanceof BadFieldReference) return '';
    throw error;
  }
}
