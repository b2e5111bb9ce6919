import type { RuleChecker, Strategy, StrategyContext } from '@capstan/kinds';
import {
  asJson,
  type CompiledSchema,
  type FieldError,
  FieldPath,
  fieldError,
  type KubeObject,
  names,
  sameJson,
  status,
} from '@capstan/machinery';
import { replicaErrors } from './scale.ts';
import { selectableFields } from './selectable.ts';
import type { Version } from './summary.ts';

interface Parts {
  readonly version: Version;
  readonly schema: () => CompiledSchema;
  /** Compiled when first needed; undefined if the schema has no rules. */
  readonly rules: () => RuleChecker | undefined;
}

/** The strategy of a custom kind in one version. */
export function customStrategy({ version, schema, rules }: Parts): Strategy {
  const { hasStatus, scale } = version;
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
    validateCreate: (object, { warn }) =>
      withRules([...schema().validate(asJson(object)), ...replicaErrors(object, scale, 'all')], rules(), { object, warn }),
    validateUpdate: (object, old, { warn }) =>
      withRules([...schema().validate(asJson(object), asJson(old)), ...replicaErrors(object, scale, 'all')], rules(), {
        object,
        old,
        warn,
      }),
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (object, old, { warn }) =>
        withRules([...schema().validateStatus(asJson(object), asJson(old)), ...replicaErrors(object, scale, 'status')], rules(), {
          object,
          old,
          warn,
        }),
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
  Object.assign(object, structuredClone(old));
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

function withRules(
  errors: FieldError[],
  rules: RuleChecker | undefined,
  { object, old, warn }: { object: KubeObject; old?: KubeObject; warn: (message: string) => void },
): FieldError[] {
  if (rules === undefined) return errors;
  if (!errors.some(({ type }) => blocking.has(type))) return [...errors, ...rules.check(asJson(object), { old: old && asJson(old), warn })];
  const why = 'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
  return [...errors, fieldError.invalid(FieldPath.of('<nil>'), null, why)];
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
