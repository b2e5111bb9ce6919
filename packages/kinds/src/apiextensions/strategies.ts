import { rootCluster } from '@capstan/api';
import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldsOf,
  formatTime,
  itemsOf,
  type KubeObject,
  maybeFields,
  type Parts,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { keepPart } from '../parts.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import type { Strategy, StrategyContext, ValidatedChange } from '../strategy.ts';
import { ruleErrors } from './rules/errors.ts';
import { unknownFormats } from './schema.ts';
import { definitionErrors, groupWithoutDot, type RuleErrors, statusErrors } from './validation.ts';

/** Keeps a deleted definition until all objects of its kind are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

function defaultNames(names: Fields): void {
  const kind = textOf(names['kind']);
  if (!names['singular'] && kind !== '') names['singular'] = kind.toLowerCase();
  if (!names['listKind'] && kind !== '') names['listKind'] = `${kind}List`;
}

const defaults: Defaults = {
  within: {
    spec: {
      set: { conversion: { strategy: 'None' } },
      within: {
        conversion: { within: { webhook: { within: { clientConfig: { within: { service: { set: { port: 443 } } } } } } } },
        names: { also: defaultNames },
      },
    },
  },
};

/**
 * Adds the storage version to `status.storedVersions`, which keeps every version that objects were stored in until someone migrates them.
 */
function rememberStorageVersion(object: KubeObject): void {
  const storage = itemsOf(fieldsOf(object['spec'])['versions']).find((version) => version['storage'] === true);
  if (storage === undefined) return;
  const status = fieldsOf(object['status']);
  const stored = textsOf(status['storedVersions']);
  // A new status, because the old object may share this one.
  if (!stored.includes(textOf(storage['name']))) object['status'] = { ...status, storedVersions: [...stored, textOf(storage['name'])] };
}

/** The name must be derived from the resource and group, so that no two definitions define the same resource. */
function fullNameErrors({ metadata, spec }: KubeObject): FieldError[] {
  const { group, names } = fieldsOf(spec);
  const wanted = `${textOf(fieldsOf(names)['plural'])}.${textOf(group)}`;
  if (!metadata.name || metadata.name === wanted) return [];
  return [fieldError.invalid(FieldPath.of('metadata', 'name'), metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

/** Validates rules, except those of unchanged schemas. Expressions that occur anywhere in the old definition count as stored. */
function rulesBeside(old: KubeObject | undefined): RuleErrors {
  if (old === undefined) return (json, at) => ruleErrors(json, at, () => false);
  const texts = new Set<string>();
  collectTexts(old['spec'], texts);
  const versions = itemsOf(fieldsOf(old['spec'])['versions']);
  const schemas = new Set(versions.map(({ schema }) => JSON.stringify(fieldsOf(schema)['openAPIV3Schema'])));
  return function* (json, at) {
    if (schemas.has(JSON.stringify(json))) return [];
    yield;
    return yield* ruleErrors(json, at, (rule) => texts.has(rule));
  };
}

/** Collects all texts inside, of which any may be an expression. */
function collectTexts(value: unknown, texts: Set<string>): void {
  if (typeof value === 'string') texts.add(value);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) collectTexts(inner, texts);
}

function* warnOfFormats({ object, old }: ValidatedChange, { warn }: StrategyContext): Parts<void> {
  const known = new Set(old && (yield* unknownFormats(old)));
  for (const format of yield* unknownFormats(object)) if (!known.has(format)) warn(`unrecognized format ${fieldError.quote(format)}`);
}

/** From now on no objects can be created, and existing ones will be deleted. */
function beginDeletion(object: KubeObject, { now }: StrategyContext): void {
  const finalizers = object.metadata.finalizers ?? [];
  if (!finalizers.includes(cleanupFinalizer)) object.metadata.finalizers = [...finalizers, cleanupFinalizer];
  const status = fieldsOf(object['status']);
  const others = itemsOf(status['conditions']).filter(({ type }) => type !== 'Terminating');
  const terminating = {
    type: 'Terminating',
    status: 'True',
    lastTransitionTime: formatTime(now()),
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  object['status'] = { ...status, conditions: [...others, terminating] };
}

/** A tenant's workspace may define Kubernetes kinds that it lacks, so groups without a dot are allowed there. */
function inPlace({ cluster }: StrategyContext, errors: FieldError[]): FieldError[] {
  return cluster === rootCluster ? errors : errors.filter(({ body }) => !body.endsWith(groupWithoutDot));
}

const customresourcedefinitions: Strategy = {
  generation: true,
  requireResourceVersion: true,
  anyFinalizer: true,
  default(object) {
    made(object, 'spec');
    applyDefaults(object, defaults);
    if (textsOf(fieldsOf(object['status'])['storedVersions']).length === 0) rememberStorageVersion(object);
  },
  prepareForCreate(object) {
    object['status'] = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null };
    rememberStorageVersion(object);
  },
  prepareForUpdate(object, old) {
    keepPart(object, old, 'status');
    rememberStorageVersion(object);
  },
  validateCreate: fullNameErrors,
  *validateInParts(change, context) {
    const { object, old } = change;
    yield* warnOfFormats(change, context);
    return inPlace(context, yield* definitionErrors(object, old, rulesBeside(old)));
  },
  beforeDeletion: beginDeletion,
  returnDeletedObject: true,
  status: {
    prepareForUpdate(object, old) {
      keepPart(object, old, 'spec');
      const kept = maybeFields(old.metadata.labels);
      if (kept === undefined) delete object.metadata.labels;
      else object.metadata.labels = kept as Record<string, string>;
    },
    validateUpdate: statusErrors,
  },
};

export const apiextensionsStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['apiextensions.k8s.io/customresourcedefinitions', customresourcedefinitions],
]);
