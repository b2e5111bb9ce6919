import { boundSchemasCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, itemsOf, type JsonObject, type KubeObject, maybeFields, readSchema, type Schema, status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../registry/admission.ts';
import { compileConversions } from '../conversions/compile.ts';
import { apiConversions, apiResourceSchemas } from '../kinds/bound-definitions.ts';
import { isOf, refuse } from './refusal.ts';

/** Checks the fields of an APIConversion against the schema of the same name. */
export function conversionAdmission(objects: ObjectReader): AdmissionPlugin {
  return {
    name: 'APIConversion',
    validate(request) {
      const { operation, object, resource, name, context } = request;
      if (!isOf(request, apiConversions) || operation === 'DELETE' || object === undefined) return;
      // Copies have been checked already.
      if (context.cluster === boundSchemasCluster) return;
      const schema = objects.get({ ...apiResourceSchemas, cluster: context.cluster, namespace: '', name: object.metadata.name ?? '' });
      if (schema === undefined) {
        const missing = `apiresourceschema.apis.kcp.io "${object.metadata.name}" not found`;
        throw status.forbidden(resource, name, `error getting APIResourceSchema ${object.metadata.name}: ${missing}`);
      }
      refuse(request, compileConversions(object['spec'], schemasOf(schema)).errors);
    },
  };
}

function schemasOf({ spec }: KubeObject): (version: string) => Schema | undefined {
  const versions = itemsOf(fieldsOf(spec)['versions']);
  return (name) => {
    const schema = maybeFields(versions.find((version) => version['name'] === name)?.['schema']);
    return schema && readSchema(schema as JsonObject);
  };
}
