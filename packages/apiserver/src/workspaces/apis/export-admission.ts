import { apisGroup } from '@capstan/api';
import { FieldPath, fieldError, fieldsOf, itemsOf, sameJson, status, textOf } from '@capstan/machinery';
import { apiExports } from '../../bindings/names.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { toV1alpha2 } from '../kinds/conversions.ts';
import { type ExportAccess, exportCluster, mayBind, printReference } from './reference.ts';
import { isOf, refuse } from './refusal.ts';

const apiExportEndpointSlices = { group: apisGroup, resource: 'apiexportendpointslices' } as const;

/** Checks the schemas and claims of an export. */
export function exportAdmission(isBuiltin: (group: string, resource: string) => boolean): AdmissionPlugin {
  return {
    name: 'APIExport',
    validate(request) {
      const { operation, object } = request;
      if (!isOf(request, apiExports) || operation === 'DELETE' || object === undefined) return;
      const spec = fieldsOf(toV1alpha2(object)['spec']);
      for (const [index, claim] of itemsOf(spec['permissionClaims']).entries()) {
        const group = textOf(claim['group']);
        if (claim['identityHash'] || group === apisGroup || isBuiltin(group, textOf(claim['resource']))) continue;
        const at = FieldPath.of('spec', 'permissionClaims').index(index).child('identityHash');
        refuseOne(request, fieldError.invalid(at, '', 'identityHash is required for API types that are not built-in'));
      }
      for (const [index, resource] of itemsOf(spec['resources']).entries()) {
        const suffix = `.${textOf(resource['name'])}.${textOf(resource['group']) || 'core'}`;
        if (textOf(resource['schema']).endsWith(suffix)) continue;
        const at = FieldPath.of('spec', 'resources').index(index).child('schema');
        refuseOne(request, fieldError.invalid(at, textOf(resource['schema']), `must end in ${suffix}`));
      }
    },
  };
}

/** The endpoints of an export are only revealed to users who may bind it. */
export function endpointSliceAdmission(access: ExportAccess): AdmissionPlugin {
  return {
    name: 'APIExportEndpointSlice',
    validate(request) {
      const { operation, resource, name: slice, object, old, context } = request;
      if (!isOf(request, apiExportEndpointSlices) || operation === 'DELETE' || object === undefined) return;
      const wanted = fieldsOf(fieldsOf(object['spec'])['export']);
      const reference = { path: textOf(wanted['path']), name: textOf(wanted['name']) };
      if (operation === 'CREATE' && reference.name === '') refuse(request, [fieldError.required(FieldPath.of('spec', 'export', 'name'))]);
      if (old !== undefined && sameJson(fieldsOf(old['spec'])['export'], fieldsOf(object['spec'])['export'])) return;
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
