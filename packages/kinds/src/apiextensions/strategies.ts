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
  textOf,
  textsOf,
} from '@capstan/machinery';
import { keepPart } from '../parts.ts';
import { applyDefaults, type Defaults, made } from '../shared/defaulting.ts';
import type { Strategy, StrategyContext } from '../strategy.ts';
import { ruleErrors } from './rules/errors.ts';
import { unknownFormats } from './schema.ts';
import { definitionErrors, groupWithoutDot, type RuleErrors, statusErrors } from './validation.ts';

/** Waits, in place of a definition, until all objects of its kind are gone. */
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

/** Every version that objects were ever stored in is remembered, until somebody has rewritten them. */
function rememberStorageVersion(object: KubeObject): void {
  const storage = itemsOf(fieldsOf(object['spec'])['versions']).find((version) => version['storage'] === true);
  if (storage === undefined) return;
  const status = fieldsOf(object['status']);
  const stored = textsOf(status['storedVersions']);
  // A new status, since the old object may share this one.
  if (!stored.includes(textOf(storage['name']))) object['status'] = { ...status, storedVersions: [...stored, textOf(storage['name'])] };
}

/** The name says what it defines, so that no two define the same. */
function fullNameErrors({ metadata, spec }: KubeObject): FieldError[] {
  const { group, names } = fieldsOf(spec);
  const wanted = `${textOf(fieldsOf(names)['plural'])}.${textOf(group)}`;
  if (!metadata.name || metadata.name === wanted) return [];
  return [fieldError.invalid(FieldPath.of('metadata', 'name'), metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

/** Checks rules. Those of a schema that did not change were taken before, and so was every expression that stood anywhere in the old definition. */
function rulesBeside(old: KubeObject | undefined): RuleErrors {
  if (old === undefined) return (json, at) => ruleErrors(json, at, () => false);
  const text = JSON.stringify(old['spec']);
  return (json, at) => (text.includes(JSON.stringify(json)) ? [] : ruleErrors(json, at, (rule) => text.includes(JSON.stringify(rule))));
}

function warnOfFormats(object: KubeObject, old: KubeObject | undefined, { warn }: StrategyContext): void {
  const known = new Set(old && unknownFormats(old));
  for (const format of unknownFormats(object)) if (!known.has(format)) warn(`unrecognized format ${fieldError.quote(format)}`);
}

/** From now on no objects are created, and those that are there will be deleted. */
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

/** In a tenant's workspace any of Kubernetes' kinds that it does not have can be defined, under the group that it has there. */
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
  prepareForCreate(object, context) {
    object['status'] = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null };
    rememberStorageVersion(object);
    warnOfFormats(object, undefined, context);
  },
  prepareForUpdate(object, old, context) {
    keepPart(object, old, 'status');
    rememberStorageVersion(object);
    warnOfFormats(object, old, context);
  },
  validateCreate: (object, context) => [
    ...fullNameErrors(object),
    ...inPlace(context, definitionErrors(object, undefined, rulesBeside(undefined))),
  ],
  validateUpdate: (object, old, context) => inPlace(context, definitionErrors(object, old, rulesBeside(old))),
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
