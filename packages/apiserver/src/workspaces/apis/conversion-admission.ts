import { type ApiResourceSchema, boundSchemasCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { readSchema, type Schema, status } from '@capstan/machinery';
import { type AdmissionPlugin, isValidated } from '../../registry/admission.ts';
import { compileConversions } from '../conversions/compile.ts';
import { apiConversions, apiResourceSchemas } from '../kinds/bound-definitions.ts';
import { refuse } from './refusal.ts';

/** Checks the fields of an APIConversion against the schema of the same name. */
export function conversionAdmission(objects: ObjectReader): AdmissionPlugin {
  return {
    name: 'APIConversion',
    validate(request) {
      if (!isValidated(request, apiConversions)) return;
      const { operation, object, resource, name, context } = request;
      if (operation === 'DELETE' || object === undefined) return;
      // Copies have been checked already.
      if (context.cluster === boundSchemasCluster) return;
      const schema = objects.get({ ...apiResourceSchemas, cluster: context.cluster, namespace: '', name: object.metadata.name ?? '' });
      if (schema === undefined) {
        const missing = `apiresourceschema.apis.kcp.io "${object.metadata.name}" not found`;
        throw status.forbidden(resource, name, `error getting APIResourceSchema ${object.metadata.name}: ${missing}`);
      }
      refuse(request, compileConversions(object.spec, schemasOf(schema)).errors);
    },
  };
}

function schemasOf({ spec }: ApiResourceSchema): (version: string) => Schema | undefined {
  return (name) => {
    const found = spec?.versions.find((version) => version.name === name);
    return found && readSchema(found.schema);
  };
}
