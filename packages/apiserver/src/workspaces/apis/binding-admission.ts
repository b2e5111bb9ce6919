import { type ApiBinding, bindingFinalizer, type ClaimSelector, type ClusterId, exportLabel, rootCluster } from '@capstan/api';
import { type FieldError, FieldPath, fieldError, fieldsOf, type KubeObject, sameJson, status, textOf } from '@capstan/machinery';
import { apiBindings } from '../../bindings/bound-resources.ts';
import { exportLabelValue } from '../../bindings/names.ts';
import { type ExportReference, referenceOf } from '../../bindings/reference.ts';
import { type AdmissionPlugin, type AdmissionRequest, isOf, isValidated } from '../../registry/admission.ts';
import { toV1alpha2 } from '../kinds/conversions.ts';
import { isSystem } from '../system-user.ts';
import { type ExportAccess, exportCluster, mayBind, printReference } from './reference.ts';
import { refuse } from './refusal.ts';

/** Checks who may bind an export, and keeps a binding until the objects of its kinds are deleted. */
export function bindingAdmission(access: ExportAccess): AdmissionPlugin {
  return {
    name: 'APIBinding',
    mutate(request) {
      const { operation, object, subresource, context } = request;
      if (!isOf(request, apiBindings) || operation === 'DELETE' || object === undefined || subresource !== '') return;
      keepFinalizer(object);
      const reference = claimedReference(object);
      if (reference === undefined || !refersAnew(request)) return;
      const cluster = providerOf(access, request, reference);
      object.metadata.labels = { ...object.metadata.labels, [exportLabel]: exportLabelValue(cluster, reference.name) };
      // Check here already, so that later mutations cannot bypass the check.
      if (!mayBind(access, context.user, { cluster, name: reference.name })) throw noPermission(request, reference);
    },
    validate(request) {
      if (!isValidated(request, apiBindings) || request.object === undefined) return;
      const { operation, object, old, subresource, context } = request;
      if (operation === 'DELETE') return;
      refuse(request, bindingErrors(toV1alpha2(object) as ApiBinding, old));
      if (subresource !== '') return;
      checkFinalizer(request, { isSystem: isSystem(context.user) });
      const reference = referenceOf(object);
      if (reference === undefined || !refersAnew(request)) return;
      const cluster = providerOf(access, request, reference);
      if (!mayBind(access, context.user, { cluster, name: reference.name })) throw noPermission(request, reference);
      const expected = exportLabelValue(cluster, reference.name);
      const label = object.metadata.labels?.[exportLabel] ?? '';
      if (label !== expected)
        refuse(request, [fieldError.invalid(FieldPath.of('metadata', 'labels').key(exportLabel), label, `must be set to "${expected}"`)]);
    },
  };
}

/** The reference in an object that has not been validated. */
function claimedReference({ spec }: KubeObject): ExportReference | undefined {
  const { path, name } = fieldsOf(fieldsOf(fieldsOf(spec)['reference'])['export']);
  return name === undefined ? undefined : { path: textOf(path), name: textOf(name) };
}

/** Whether the export must be checked: the binding is new, or its reference or its label has changed. */
function refersAnew({ object, old }: AdmissionRequest): boolean {
  if (old === undefined || object === undefined) return true;
  if (!sameJson(fieldsOf(object['spec'])['reference'], fieldsOf(old['spec'])['reference'])) return true;
  return object.metadata.labels?.[exportLabel] !== old.metadata.labels?.[exportLabel];
}

function providerOf(access: ExportAccess, request: AdmissionRequest, reference: ExportReference): ClusterId {
  // The first bindings of the root workspace are created before their exports.
  const cluster = reference.path === rootCluster ? rootCluster : exportCluster(access, reference, request.context.cluster);
  if (cluster === undefined) throw noPermission(request, reference);
  return cluster;
}

/** The same error for a missing workspace, a missing export and a missing permission, so that it reveals nothing. */
function noPermission({ operation, resource, name }: AdmissionRequest, reference: ExportReference): Error {
  const action = operation === 'UPDATE' ? 'update' : 'create';
  const why = `unable to ${action} APIBinding: no permission to bind to export ${printReference(reference)}`;
  return status.forbidden(resource, name, why);
}

function keepFinalizer({ metadata }: KubeObject): void {
  if (metadata.deletionTimestamp !== undefined || metadata.finalizers?.includes(bindingFinalizer) === true) return;
  metadata.finalizers = [...(metadata.finalizers ?? []), bindingFinalizer];
}

function checkFinalizer({ resource, name, object, old }: AdmissionRequest, user: { isSystem: boolean }): void {
  const has = (one: KubeObject | undefined): boolean => one?.metadata.finalizers?.includes(bindingFinalizer) === true;
  if (has(object)) return;
  if (object!.metadata.deletionTimestamp === undefined) throw status.forbidden(resource, name, `finalizer ${bindingFinalizer} is required`);
  if (has(old) && !user.isSystem) throw status.forbidden(resource, name, `removing the finalizer ${bindingFinalizer} is forbidden`);
}

function bindingErrors(binding: ApiBinding, old: ApiBinding | undefined): FieldError[] {
  const phase = ({ status: state }: ApiBinding): string => state?.phase ?? '';
  const errors = [
    ...referenceErrors(referenceOf(binding), FieldPath.of('spec', 'reference', 'export')),
    ...(binding.spec?.permissionClaims ?? []).flatMap(({ selector }, index) =>
      selectorErrors(selector, FieldPath.of('spec', 'permissionClaims').index(index).child('selector')),
    ),
  ];
  if (old !== undefined && phase(old) !== '' && phase(binding) === '')
    errors.push(fieldError.forbidden(FieldPath.of('status', 'phase'), `cannot transition from "${phase(old)}" to ""`));
  return errors;
}

function referenceErrors(reference: ExportReference | undefined, at: FieldPath): FieldError[] {
  if (reference === undefined) return [fieldError.required(at)];
  return reference.name === '' ? [fieldError.required(at.child('name'))] : [];
}

function selectorErrors(selector: ClaimSelector, at: FieldPath): FieldError[] {
  const { matchAll, matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.keys(matchLabels).length > 0;
  const expressions = matchExpressions.length > 0;
  if (matchAll !== true)
    return labels || expressions ? [] : [fieldError.required(at, 'either one of matchAll, matchLabels, or matchExpressions must be set')];
  return [
    ...(labels ? [fieldError.invalid(at.child('matchLabels'), selector, 'matchLabels cannot be used with matchAll')] : []),
    ...(expressions ? [fieldError.invalid(at.child('matchExpressions'), selector, 'matchExpressions cannot be used with matchAll')] : []),
  ];
}
