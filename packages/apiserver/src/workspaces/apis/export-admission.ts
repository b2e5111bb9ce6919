import { type ApiExport, apisGroup, endpointSliceKind, groupResource } from '@capstan/api';
import { FieldPath, fieldError, sameJson, status } from '@capstan/machinery';
import { apiExports } from '../../bindings/names.ts';
import { type AdmissionPlugin, type AdmissionRequest, isValidated } from '../../registry/admission.ts';
import { toV1alpha2 } from '../kinds/conversions.ts';
import { type ExportAccess, exportCluster, mayBind, printReference } from './reference.ts';
import { refuse } from './refusal.ts';

const apiExportEndpointSlices = groupResource(endpointSliceKind);

/** Checks the schemas and claims of an export. */
export function exportAdmission(isBuiltin: (group: string, resource: string) => boolean): AdmissionPlugin {
  return {
    name: 'APIExport',
    validate(request) {
      if (!isValidated(request, apiExports)) return;
      const { operation, object } = request;
      if (operation === 'DELETE' || object === undefined) return;
      const { spec } = toV1alpha2(object) as ApiExport;
      for (const [index, { group = '', resource, identityHash }] of (spec?.permissionClaims ?? []).entries()) {
        if (identityHash || group === apisGroup || isBuiltin(group, resource)) continue;
        const at = FieldPath.of('spec', 'permissionClaims').index(index).child('identityHash');
        refuseOne(request, fieldError.invalid(at, '', 'identityHash is required for API types that are not built-in'));
      }
      for (const [index, { group, name, schema }] of (spec?.resources ?? []).entries()) {
        const suffix = `.${name}.${group || 'core'}`;
        if (schema.endsWith(suffix)) continue;
        const at = FieldPath.of('spec', 'resources').index(index).child('schema');
        refuseOne(request, fieldError.invalid(at, schema, `must end in ${suffix}`));
      }
    },
  };
}

/** The endpoints of an export are only revealed to users who may bind it. */
export function endpointSliceAdmission(access: ExportAccess): AdmissionPlugin {
  return {
    name: 'APIExportEndpointSlice',
    validate(request) {
      if (!isValidated(request, apiExportEndpointSlices)) return;
      const { operation, resource, name: slice, object, old, context } = request;
      if (operation === 'DELETE' || object === undefined) return;
      const wanted = object.spec?.export;
      const reference = { path: wanted?.path ?? '', name: wanted?.name ?? '' };
      if (operation === 'CREATE' && reference.name === '') refuse(request, [fieldError.required(FieldPath.of('spec', 'export', 'name'))]);
      if (old !== undefined && sameJson(old.spec?.export, wanted)) return;
      const cluster = exportCluster(access, reference, context.cluster);
      if (cluster !== undefined && mayBind(access, context.user, { cluster, name: reference.name })) return;
      const why = `unable to create APIExportEndpointSlice: no permission to bind to export ${printReference(reference)}`;
      throw status.forbidden(resource, slice, why);
    },
  };
}

function refuseOne({ resource, name }: AdmissionRequest, { field, body }: { field: string; body: string }): never {
  throw status.forbidden(resource, name, `${field}: ${body}`);
}
