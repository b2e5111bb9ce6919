import { type ApiResourceSchema, boundSchemasCluster } from '@capstan/api';
import { definitionErrors, ruleErrors } from '@capstan/kinds';
import { type FieldError, FieldPath, fieldError, names as nameRules, type Parts, sameJsonInParts } from '@capstan/machinery';
import { type AdmissionPlugin, type AdmissionRequest, isValidated } from '../../registry/admission.ts';
import { apiResourceSchemas, asDefinition } from '../kinds/bound-definitions.ts';
import { refuse } from './refusal.ts';

const prefixPattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** Kubernetes groups without a dot. */
const singleSegmentGroups: ReadonlySet<string> = new Set(['apps', 'batch', 'extensions', 'policy', 'autoscaling']);

/** Users rely on schemas, so they are validated like definitions, and are immutable. */
export const schemaAdmission: AdmissionPlugin = {
  name: 'APIResourceSchema',
  validate(request) {
    if (!isValidated(request, apiResourceSchemas)) return;
    const { operation, object, old, context } = request;
    if (operation === 'DELETE' || object === undefined) return;
    // Copies have been checked already, and have different names.
    if (context.cluster === boundSchemasCluster) return;
    return context.pace().run(check(request, object, old));
  },
};

function* check(request: AdmissionRequest, object: ApiResourceSchema, old: ApiResourceSchema | undefined): Parts<void> {
  const isChanged = old !== undefined && !(yield* sameJsonInParts(object.spec, old.spec));
  // An accepted schema stays valid: only a new one needs validation.
  const errors = old === undefined || isChanged ? yield* schemaErrors(object) : [];
  if (isChanged) errors.push(fieldError.invalid(FieldPath.of('spec'), object.spec ?? {}, 'is immutable'));
  refuse(request, errors);
}

function* schemaErrors(schema: ApiResourceSchema): Parts<FieldError[]> {
  const definition = asDefinition(schema);
  const { annotations = {} } = schema.metadata;
  const checked = yield* definitionErrors({ ...definition, metadata: { ...definition.metadata, annotations } }, undefined, (json, at) =>
    ruleErrors(json, at, () => false),
  );
  return [
    ...nameErrors(schema),
    ...groupErrors(schema.spec?.group ?? '', FieldPath.of('spec', 'group')),
    // The group has been checked above, by looser rules; and there is no default for missing names.
    ...checked.filter(({ field }) => field !== 'spec.group').map((error) => ({ ...error, field: inVersion(error.field) })),
    ...missingNames(schema.spec?.names, FieldPath.of('spec', 'names')),
  ];
}

/** For a definition with one version, Kubernetes reports errors at the top level instead of in the version. */
function inVersion(field: string): string {
  return field
    .replace(/^spec\.validation\b/, 'spec.versions[0].schema')
    .replace(/^spec\.(subresources|additionalPrinterColumns)\b/, 'spec.versions[0].$1');
}

function nameErrors({ metadata, spec }: ApiResourceSchema): FieldError[] {
  const plural = spec?.names.plural ?? '';
  const name = metadata.name ?? '';
  const end = `.${plural}.${spec?.group || 'core'}`;
  if (plural === '') return [];
  const at = FieldPath.of('metadata', 'name');
  if (!name.endsWith(end)) return [fieldError.invalid(at, name, `must end in ${end}`)];
  if (prefixPattern.test(name.slice(0, -end.length))) return [];
  return [fieldError.invalid(at, name, `must match ${prefixPattern.source} in front of ${end}`)];
}

function groupErrors(group: string, at: FieldPath): FieldError[] {
  if (group === '' || singleSegmentGroups.has(group)) return [];
  if (group === 'core') return [fieldError.invalid(at, group, 'must be empty string for the core group')];
  const problems = nameRules.dns1123Subdomain(group);
  if (problems.length > 0) return [fieldError.invalid(at, group, problems.join(','))];
  return group.includes('.') ? [] : [fieldError.invalid(at, group, 'should be a domain with at least one dot')];
}

function missingNames(names: NonNullable<ApiResourceSchema['spec']>['names'] | undefined, at: FieldPath): FieldError[] {
  return (['singular', 'listKind'] as const).filter((key) => (names?.[key] ?? '') === '').map((key) => fieldError.required(at.child(key)));
}
