import type { ApiConversion, ConversionRule, VersionConversion } from '@capstan/api';
import { compile, declarationOfSchema, type Program, type StructuralSchema } from '@capstan/cel';
import { type FieldError, FieldPath, fieldError, type Schema } from '@capstan/machinery';
import { keepsAt, type Path, parsePath, schemaAt } from './paths.ts';

export interface CompiledRule {
  readonly from: Path;
  readonly to: Path;
  /** Undefined if the value is copied unchanged. */
  readonly program: Program | undefined;
}

/** The rules for conversion from one version to another. */
export interface VersionRules {
  readonly from: string;
  readonly to: string;
  readonly rules: readonly CompiledRule[];
  /** Fields that the conversion would lose, and that are kept in an annotation. */
  readonly preserve: readonly Path[];
}

export interface Compiled {
  readonly versions: readonly VersionRules[];
  readonly errors: readonly FieldError[];
}

/** Rules cannot change the identity of an object. */
const fixed: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Compiles the `spec` of an APIConversion. Errors have kcp's wording. */
export function compileConversions(spec: ApiConversion['spec'], schemaOf: (version: string) => Schema | undefined): Compiled {
  const errors: FieldError[] = [];
  const versions = (spec?.conversions ?? []).map((conversion, index) =>
    compileVersions(conversion, { schemaOf, at: FieldPath.of('spec', 'conversions').index(index), errors }),
  );
  return { versions, errors };
}

interface Place {
  readonly schemaOf: (version: string) => Schema | undefined;
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

function compileVersions(conversion: VersionConversion, { schemaOf, at, errors }: Place): VersionRules {
  const { from, to, preserve = [] } = conversion;
  const source = schemaOf(from);
  const target = schemaOf(to);
  const unknown = 'unable to find structural schema for version';
  if (source === undefined) errors.push(fieldError.invalid(at.child('from'), from, unknown));
  if (target === undefined) errors.push(fieldError.invalid(at.child('to'), to, unknown));
  for (const [index, text] of preserve.entries()) {
    const wrong = source && fieldProblem(source, text);
    if (wrong !== undefined) errors.push(fieldError.invalid(at.child('preserve').index(index), text, wrong));
  }
  const rules = conversion.rules.map((rule, index) => compileRule(rule, { source, target, at: at.child('rules').index(index), errors }));
  return { from, to, rules, preserve: preserve.map(parsePath).filter(([first]) => !fixed.has(first!)) };
}

interface RulePlace {
  readonly source: Schema | undefined;
  readonly target: Schema | undefined;
  readonly at: FieldPath;
  readonly errors: FieldError[];
}

function compileRule(rule: ConversionRule, { source, target, at, errors }: RulePlace): CompiledRule {
  const { field, destination, transformation = '' } = rule;
  const from = parsePath(field);
  const to = parsePath(destination);
  const found = source && schemaAt(source, from);
  if (typeof found === 'string') errors.push(fieldError.invalid(at.child('field'), field, found));
  const misplaced = fixed.has(to[0]!) ? 'only fields outside of metadata can be converted' : undefined;
  const wrong = misplaced ?? (target && !keepsAt(target, to) ? `field "${to.join('.')}" doesn't exist` : undefined);
  if (wrong !== undefined) errors.push(fieldError.invalid(at.child('destination'), destination, wrong));
  const isCompiled = transformation !== '' && typeof found === 'object';
  return { from, to, program: isCompiled ? programOf(transformation, found, { at, errors }) : undefined };
}

function programOf(source: string, schema: Schema, { at, errors }: Pick<Place, 'at' | 'errors'>): Program | undefined {
  const self = declarationOfSchema(schema.json as StructuralSchema, { isResourceRoot: schema.embeddedResource });
  if (self === undefined) {
    const why = `error creating CEL environment: unable to find CEL decl type for ${schema.type}`;
    errors.push(fieldError.invalid(at.child('field'), source, why));
    return undefined;
  }
  const { program, message } = compile(source, { variables: new Map([['self', self]]), isStored: true });
  if (program === undefined) errors.push(fieldError.invalid(at.child('transformation'), source, `error compiling CEL program: ${message}`));
  return program;
}

function fieldProblem(schema: Schema, text: string): string | undefined {
  const path = parsePath(text);
  if (fixed.has(path[0]!)) return 'only fields outside of metadata can be preserved';
  const found = schemaAt(schema, path);
  return typeof found === 'string' ? found : undefined;
}
