import {
  type FieldError,
  FieldPath,
  type Fields,
  fieldError,
  fieldImmutable,
  fieldsOf,
  itemsOf,
  type JsonObject,
  type KubeObject,
  maybeFields,
  names as nameRules,
  type Parts,
  textOf,
  textsOf,
} from '@capstan/machinery';
import { errorsWithinReach } from '../shared/effort.ts';
import { approvalErrors } from './approval.ts';
import { mayHaveAnyBundle } from './ca-bundle.ts';
import { conversionErrors } from './conversion.ts';
import { type InternalSpec, type InternalVersion, shownVersions, toInternal } from './internal.ts';
import { nameErrors, requiredNameErrors } from './names.ts';
import { columnErrors, selectableFieldErrors, subresourceErrors } from './presentation.ts';
import { versionSchemaErrors } from './schema.ts';

/** Validates the rules of a schema that has no other errors. */
export type RuleErrors = (json: JsonObject, at: FieldPath) => Parts<FieldError[]>;

/**
 * Validates a definition on create (without `old`) or update, as long as that does not take too long. In parts: a definition may have tens
 * of thousands of properties.
 */
export function definitionErrors(definition: KubeObject, old: KubeObject | undefined, ruleErrors: RuleErrors): Parts<FieldError[]> {
  return errorsWithinReach(FieldPath.of('spec'), errorsIn(definition, old, ruleErrors));
}

function* errorsIn(definition: KubeObject, old: KubeObject | undefined, ruleErrors: RuleErrors): Parts<FieldError[]> {
  const status = fieldsOf(definition['status']);
  const internal = toInternal(definition);
  yield;
  return [
    ...(yield* specErrors(internal, FieldPath.of('spec'), ruleErrors)),
    ...conversionErrors(fieldsOf(internal.spec['conversion']), FieldPath.of('spec', 'conversion'), mayHaveAnyBundle(old)),
    ...(old === undefined ? [] : changeErrors(internal.spec, old)),
    ...nameErrors(fieldsOf(status['acceptedNames']), FieldPath.of('status', 'acceptedNames')),
    ...storedVersionErrors(textsOf(status['storedVersions']), internal.versions),
    ...approvalErrors(definition, old),
    ...preserveErrors(internal.spec, old),
  ];
}

export function statusErrors(definition: KubeObject): FieldError[] {
  return nameErrors(fieldsOf(fieldsOf(definition['status'])['acceptedNames']), FieldPath.of('status', 'acceptedNames'));
}

function* specErrors(internal: InternalSpec, at: FieldPath, ruleErrors: RuleErrors): Parts<FieldError[]> {
  const { spec, group, names, versions } = internal;
  const ofVersions: FieldError[][] = [];
  for (const [index, version] of versions.entries())
    ofVersions.push(yield* versionErrors(version, at.child('versions').index(index), { internal, ruleErrors }));
  return [
    ...groupErrors(group, at.child('group')),
    ...scopeErrors(textOf(spec['scope']), at.child('scope')),
    ...missingSchemas(internal, at.child('versions')),
    ...ofVersions.flat(),
    ...versionListErrors(internal, at),
    ...requiredNameErrors(names, at.child('names')),
    ...nameErrors(names, at.child('names')),
    ...(yield* sharedErrors(internal, at, ruleErrors)),
  ];
}

/** Groups without a dot are reserved for Kubernetes. */
export const groupWithoutDot = 'should be a domain with at least one dot';

function groupErrors(group: string, at: FieldPath): FieldError[] {
  if (group === '') return [fieldError.required(at)];
  const problems = nameRules.dns1123Subdomain(group);
  if (problems.length > 0) return [fieldError.invalid(at, group, problems.join(','))];
  return group.includes('.') ? [] : [fieldError.invalid(at, group, groupWithoutDot)];
}

function scopeErrors(scope: string, at: FieldPath): FieldError[] {
  if (scope === '') return [fieldError.required(at)];
  return scope === 'Cluster' || scope === 'Namespaced' ? [] : [fieldError.notSupported(at, scope, ['Cluster', 'Namespaced'])];
}

function missingSchemas({ schema, versions }: InternalSpec, at: FieldPath): FieldError[] {
  if (schema !== undefined) return [];
  return versions.flatMap((version, index) =>
    version.schema === undefined ? [fieldError.required(at.index(index).child('schema').child('openAPIV3Schema'))] : [],
  );
}

interface Around {
  readonly internal: InternalSpec;
  readonly ruleErrors: RuleErrors;
}

function* versionErrors(version: InternalVersion, at: FieldPath, { internal, ruleErrors }: Around): Parts<FieldError[]> {
  const errors: FieldError[] = [];
  const problems = nameRules.dns1035Label(version.name);
  if (problems.length > 0) errors.push(fieldError.invalid(at.child('name'), version.name, problems.join(',')));
  for (const problem of warningProblems(version))
    errors.push(fieldError.invalid(at.child('deprecationWarning'), version.deprecationWarning, problem));
  const subresources = internal.subresources ?? version.subresources;
  const hasStatus = maybeFields(subresources?.['status']) !== undefined;
  if (version.schema !== undefined)
    errors.push(...(yield* versionSchemaErrors(version.schema, at.child('schema'), { hasStatus, ruleErrors })));
  errors.push(...subresourceErrors(version.subresources, at.child('subresources')));
  errors.push(...columnErrors(version.columns, at.child('additionalPrinterColumns')));
  const schema = version.schema ?? internal.schema;
  if (schema !== undefined) errors.push(...selectableFieldErrors(version.selectableFields, schema, at.child('selectableFields')));
  yield;
  return errors;
}

/** Validates the parts that are the same in all versions. */
function* sharedErrors(internal: InternalSpec, at: FieldPath, ruleErrors: RuleErrors): Parts<FieldError[]> {
  const { schema, subresources, versions } = internal;
  const all = [subresources, ...versions.map((version) => version.subresources)];
  const hasStatus = all.some((one) => maybeFields(one?.['status']) !== undefined);
  return [
    ...(schema === undefined ? [] : yield* versionSchemaErrors(schema, at.child('validation'), { hasStatus, ruleErrors })),
    ...subresourceErrors(subresources, at.child('subresources')),
    ...columnErrors(internal.columns, at.child('additionalPrinterColumns')),
    ...(schema === undefined ? [] : selectableFieldErrors(internal.selectableFields, schema, at.child('selectableFields'))),
  ];
}

function warningProblems({ deprecated, deprecationWarning: text }: InternalVersion): string[] {
  if (text === undefined) return [];
  if (!deprecated) return ['can only be set for deprecated versions'];
  const problems: string[] = [];
  if (Buffer.byteLength(text) > 256) problems.push('must be <= 256 characters long');
  if (text === '') problems.push('must not be an empty string');
  const bad = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(text);
  if (bad !== null) {
    const index = Buffer.byteLength(text.slice(0, bad.index));
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${index}`);
  }
  return problems;
}

function versionListErrors({ spec, versions }: InternalSpec, at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const shown = Array.isArray(spec['versions']) ? shownVersions(versions) : null;
  const wrong = (why: string): number => errors.push(fieldError.invalid(at.child('versions'), shown, why));
  if (new Set(versions.map(({ name }) => name)).size < versions.length) wrong('must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1) wrong('must have exactly one version marked as storage version');
  const first = versions[0]?.name ?? '';
  const problems = first === '' ? [] : nameRules.dns1035Label(first);
  if (problems.length > 0) errors.push(fieldError.invalid(at.child('version'), first, problems.join(',')));
  return errors;
}

function storedVersionErrors(stored: readonly string[], versions: readonly InternalVersion[]): FieldError[] {
  const at = FieldPath.of('status', 'storedVersions');
  if (stored.length === 0) return [fieldError.invalid(at, null, 'must have at least one stored version')];
  const errors: FieldError[] = [];
  const [inStatus, inSpec] = [new Set(stored), new Set(versions.map(({ name }) => name))];
  for (const { name, storage } of versions)
    if (storage && !inStatus.has(name)) errors.push(fieldError.invalid(at, stored, `must have the storage version ${name}`));
  for (const [index, name] of stored.entries()) {
    if (inSpec.has(name)) continue;
    const why = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`;
    errors.push(fieldError.invalid(at.index(index), name, why));
  }
  return errors;
}

/** Rejects changes to fields that paths and stored objects depend on. */
function changeErrors(spec: Readonly<Fields>, oldDefinition: KubeObject): FieldError[] {
  const at = FieldPath.of('spec');
  const old = fieldsOf(oldDefinition['spec']);
  const errors: FieldError[] = [];
  const unchanged = (place: FieldPath, value: unknown, before: unknown): void => {
    if (value !== before) errors.push(fieldError.invalid(place, value, fieldImmutable));
  };
  const [names, oldNames] = [fieldsOf(spec['names']), fieldsOf(old['names'])];
  const conditions = itemsOf(fieldsOf(oldDefinition['status'])['conditions']);
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) {
    unchanged(at.child('scope'), spec['scope'], old['scope']);
    unchanged(at.child('names', 'kind'), names['kind'], oldNames['kind']);
  }
  unchanged(at.child('group'), spec['group'], old['group']);
  unchanged(at.child('names', 'plural'), names['plural'], oldNames['plural']);
  return errors;
}

function preserveErrors(spec: Readonly<Fields>, old: KubeObject | undefined): FieldError[] {
  if (spec['preserveUnknownFields'] !== true || fieldsOf(old?.['spec'])['preserveUnknownFields'] === true) return [];
  const why = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
  return [fieldError.invalid(FieldPath.of('spec', 'preserveUnknownFields'), true, why)];
}
