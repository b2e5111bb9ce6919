import type { RuleChecker, Strategy, StrategyContext, ValidatedChange } from '@capstan/kinds';
import {
  asJson,
  type CompiledSchema,
  copyJson,
  type FieldError,
  FieldPath,
  fieldError,
  type KubeObject,
  limitSteps,
  names,
  OutOfSteps,
  type Parts,
  sameJson,
  status,
} from '@capstan/machinery';
import { replicaErrors } from './scale.ts';
import { selectableFields } from './selectable.ts';
import type { Version } from './summary.ts';

interface CustomKindParts {
  readonly version: Version;
  readonly schema: () => CompiledSchema;
  /** Compiled when first needed; undefined if the schema has no rules. */
  readonly rules: () => RuleChecker | undefined;
}

/** The strategy of a custom kind in one version. */
export function customStrategy({ version, schema, rules }: CustomKindParts): Strategy {
  const { hasStatus, scale } = version;
  const validateInParts: Strategy['validateInParts'] = (change, { warn }) => ruleErrors(rules(), change, warn);
  return {
    generation: true,
    requireResourceVersion: true,
    anyFinalizer: true,
    default(object) {
      if (!schema().applyDefaults(asJson(object))) throw status.requestTooLarge('the object would be too large with its defaults');
    },
    prepareForCreate(object, context) {
      if (hasStatus) delete object['status'];
      warnOfFinalizers(object, undefined, context);
    },
    prepareForUpdate(object, old, context) {
      if (hasStatus) keepStatus(object, old);
      if (contentChanged(object, old)) object.metadata.generation = (old.metadata.generation ?? 0) + 1;
      warnOfFinalizers(object, old, context);
    },
    validateCreate: (object) => [...schemaErrors(() => schema().validate(asJson(object))), ...replicaErrors(object, scale, 'all')],
    validateUpdate: (object, old) => [
      ...schemaErrors(() => schema().validate(asJson(object), asJson(old))),
      ...replicaErrors(object, scale, 'all'),
    ],
    validateInParts,
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (object, old) => [
        ...schemaErrors(() => schema().validateStatus(asJson(object), asJson(old))),
        ...replicaErrors(object, scale, 'status'),
      ],
      validateInParts,
    },
    ...selectableFields(version.selectableFields),
  };
}

function keepStatus(object: KubeObject, old: KubeObject): void {
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = old['status'];
}

/** Restores everything but the status and the managed fields. */
function onlyStatus(object: KubeObject, old: KubeObject): void {
  const { status } = object;
  const { managedFields, resourceVersion } = object.metadata;
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, copyJson(asJson(old)));
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
  if (resourceVersion !== undefined) object.metadata.resourceVersion = resourceVersion;
  if (status === undefined) delete object['status'];
  else object['status'] = status;
}

function contentChanged(object: KubeObject, old: KubeObject): boolean {
  const keys = new Set([...Object.keys(object), ...Object.keys(old)]);
  keys.delete('metadata');
  for (const key of keys) if (!sameJson(object[key], old[key])) return true;
  return false;
}

/** Rules are only evaluated on objects without these errors, because they rely on the schema. */
const blocking: ReadonlySet<string> = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

function* ruleErrors(
  rules: RuleChecker | undefined,
  { object, old, errors }: ValidatedChange,
  warn: (message: string) => void,
): Parts<FieldError[]> {
  if (rules === undefined) return [];
  if (!errors.some(({ type }) => blocking.has(type))) return yield* rules.check(asJson(object), { old: old && asJson(old), warn });
  const why = 'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return [fieldError.invalid(FieldPath.of('<nil>'), null, why)];
}

/** The steps that the patterns of a schema may take for one object, and the errors that are dropped because nothing changed. */
const mostSteps = 10_000_000;

function schemaErrors(validate: () => FieldError[]): FieldError[] {
  try {
    return limitSteps(mostSteps, validate);
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
    const why = 'the patterns of the schema take too long to check for texts as long as these, or there are too many errors to compare';
    return [fieldError.forbidden(FieldPath.of('<nil>'), why)];
  }
}

const standardFinalizers: ReadonlySet<string> = new Set(['orphan', 'foregroundDeletion', 'kubernetes']);

/** New finalizers should have a domain prefix. */
function warnOfFinalizers({ metadata }: KubeObject, old: KubeObject | undefined, { warn }: StrategyContext): void {
  const known = new Set(old?.metadata.finalizers);
  for (const finalizer of [...(metadata.finalizers ?? [])].sort()) {
    if (known.has(finalizer)) continue;
    const subject = `metadata.finalizers: ${fieldError.quote(finalizer)}`;
    for (const problem of names.qualifiedName(finalizer)) warn(`${subject}: ${problem}`);
    if (finalizer.includes('/') || standardFinalizers.has(finalizer)) continue;
    const including = finalizer.includes('.') ? ' including a path (/)' : '';
    warn(`${subject}: prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`);
  }
}
