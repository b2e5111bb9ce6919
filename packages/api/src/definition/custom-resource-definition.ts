import type { KubeObject } from '@capstan/machinery/objects';
import type { KindDefinition } from './define-kind.ts';
import { namesOf, objectSchema, versionFacts } from './object-schema.ts';

/** The CustomResourceDefinition of a kind, for servers without workspaces. */
export function customResourceDefinition(definition: KindDefinition): KubeObject {
  const { group, resource, namespaced, versions } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      names: namesOf(definition),
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: Object.entries(versions).map(([name, version]) => ({
        ...versionFacts(definition, name),
        ...(version.selectableFields && { selectableFields: version.selectableFields.map((jsonPath) => ({ jsonPath })) }),
        schema: { openAPIV3Schema: objectSchema(definition, version) },
      })),
    },
  };
}
