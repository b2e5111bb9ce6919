import type { JsonObject } from '../json.ts';
import { builtinGroups, builtinResources, builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';

/** The properties of a built-in or custom resource that the documents need. */
export interface OpenApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Absent if the resource cannot be listed. */
  readonly listKind?: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly OpenApiSubresource[];
  readonly schema: OpenApiSchemaSource;
  /** Field paths for selectors, beside name and namespace. Custom kinds only. */
  readonly selectableFields?: readonly string[];
}

export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The group of the kind that it reads and writes. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The resource's own schema if absent. */
  readonly schema?: ObjectType;
}

/** A type from the tables, or the JSON schema of a custom resource (`openAPIV3Schema`). */
export type OpenApiSchemaSource = ObjectType | { readonly kind: 'json'; readonly schema: JsonObject };

/** The built-in resources in the form that the documents need; by default, those that are always served. */
export function builtinOpenApiResources(isServed = isAlwaysServed): OpenApiResource[] {
  const types = builtinTypes();
  const served = builtinResources().filter(({ group, version }) => isServed(group, version));
  return served.map(({ typeName, subresources, ...resource }) => ({
    ...resource,
    schema: types.object(typeName),
    // A subresource without a schema is a connection (exec, proxy…), which clients open without consulting the documents.
    subresources: subresources
      .filter((subresource) => subresource.typeName !== undefined)
      .map(({ typeName: inner, ...subresource }) => ({
        ...subresource,
        ...(inner !== typeName && { schema: types.object(inner!) }),
      })),
  }));
}

function isAlwaysServed(group: string, version: string): boolean {
  return builtinGroups().some(({ name, versions }) => name === group && versions.includes(version));
}

/** The name of a schema in the documents, as in Kubernetes: Go's for built-in kinds, the reversed group for custom ones. */
export function schemaNameOf({ group, version, kind, schema }: OpenApiResource): string {
  if (schema.kind === 'object') return schema.name;
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
}
