import type { JsonObject } from '../json.ts';
import { builtinGroups, builtinResources, builtinTypes } from '../schema/table.ts';
import type { ObjectType } from '../schema/type.ts';

/** What the documents need to know about a resource, built-in or custom. */
export interface OpenApiResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Absent when it cannot be listed. */
  readonly listKind?: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly OpenApiSubresource[];
  readonly schema: OpenApiSchemaSource;
  /** Paths that a custom kind can be selected by, beside its name and namespace. */
  readonly selectableFields?: readonly string[];
}

export interface OpenApiSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** Of what it takes and gives. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Absent: the resource's own schema. */
  readonly schema?: ObjectType;
}

/** A type from the tables, or the JSON schema of a custom resource (`openAPIV3Schema`). */
export type OpenApiSchemaSource = ObjectType | { readonly kind: 'json'; readonly schema: JsonObject };

/** The built-in resources of the tables in the form that the documents take. Without a choice, those that are always served. */
export function builtinOpenApiResources(isServed = isAlwaysServed): OpenApiResource[] {
  const types = builtinTypes();
  const served = builtinResources().filter(({ group, version }) => isServed(group, version));
  return served.map(({ typeName, subresources, ...resource }) => ({
    ...resource,
    schema: types.object(typeName),
    // A subresource without a schema is a connection (exec, proxy…), which clients open without looking it up here.
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

/** The name of a schema in the documents: Go's for built-in kinds, the group backwards for custom ones, as Kubernetes has it. */
export function schemaNameOf({ group, version, kind, schema }: OpenApiResource): string {
  if (schema.kind === 'object') return schema.name;
  return `${group.split('.').reverse().join('.')}.${version}.${kind}`;
}
