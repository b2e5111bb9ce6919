import { zeroScalar } from '../codec/scalar.ts';
import type { Json, JsonObject } from '../json.ts';
import type { AnyForm, Field, ObjectType, Scalar, Type } from '../schema/type.ts';
import { describe } from './descriptions.ts';

/** The two versions differ in where schemas are, and in the keywords they allow. */
export type Dialect = 'v2' | 'v3';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** Scalars that have a schema of their own. */
const named: Partial<Record<Scalar, { readonly name: string; readonly v2: JsonObject; readonly v3: JsonObject }>> = {
  time: same(`${meta}.Time`, { type: 'string', format: 'date-time' }),
  microTime: same(`${meta}.MicroTime`, { type: 'string', format: 'date-time' }),
  duration: same(`${meta}.Duration`, { type: 'string' }),
  quantity: {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    v2: { type: 'string' },
    v3: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
  intOrString: {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    v2: { type: 'string', format: 'int-or-string' },
    v3: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  },
};

const apiextensions = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';

/** These allow any content but cannot be empty: kubectl treats an empty schema as an error. */
const anySchemas: Record<AnyForm, { readonly name: string; readonly schema: JsonObject }> = {
  raw: { name: 'io.k8s.apimachinery.pkg.runtime.RawExtension', schema: { description: 'Any object.', type: 'object' } },
  json: { name: `${apiextensions}.JSON`, schema: { description: 'Any JSON.' } },
  schemaOrBool: { name: `${apiextensions}.JSONSchemaPropsOrBool`, schema: { description: 'A JSON schema, or true or false.' } },
  schemaOrArray: { name: `${apiextensions}.JSONSchemaPropsOrArray`, schema: { description: 'A JSON schema, or a list of them.' } },
  schemaOrStringArray: {
    name: `${apiextensions}.JSONSchemaPropsOrStringArray`,
    schema: { description: 'A JSON schema, or a list of names.' },
  },
};

/** The one field that holds any object and whose type has its own name. */
const managedFields = {
  owner: `${meta}.ManagedFieldsEntry`,
  field: 'fieldsV1',
  name: `${meta}.FieldsV1`,
  schema: { description: 'A set of fields, as a tree of field names.', type: 'object' },
};

const plain: Partial<Record<Scalar, JsonObject>> = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
};

function same(name: string, schema: JsonObject): { name: string; v2: JsonObject; v3: JsonObject } {
  return { name, v2: schema, v3: schema };
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Collects the schemas that a document refers to, each once. */
export class SchemaCollector {
  readonly #dialect: Dialect;
  readonly #schemas = new Map<string, JsonObject>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** All requested schemas and those that they refer to, by name. */
  collected(): [name: string, schema: JsonObject][] {
    return [...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Returns a reference to the type's schema, and adds the schema to the document. */
  reference(type: ObjectType): JsonObject {
    if (!this.#schemas.has(type.name)) {
      // Registered before it is filled: types refer to each other in cycles.
      const schema: JsonObject = {};
      this.#schemas.set(type.name, schema);
      Object.assign(schema, this.#object(type));
    }
    return this.referenceTo(type.name);
  }

  referenceTo(name: string): JsonObject {
    return { $ref: this.#dialect === 'v3' ? `#/components/schemas/${name}` : `#/definitions/${name}` };
  }

  /** Adds a schema that does not come from the tables. */
  add(name: string, schema: JsonObject): void {
    this.#schemas.set(name, schema);
  }

  /** Marks the schema with its kind, by which clients find it. */
  markKind(name: string, { group, version, kind }: GroupVersionKind): void {
    const schema = this.#schemas.get(name);
    if (schema === undefined) return;
    const kinds = (schema['x-kubernetes-group-version-kind'] ??= []) as JsonObject[];
    if (!kinds.some((known) => known.group === group && known.version === version && known.kind === kind))
      kinds.push({ group, kind, version });
  }

  /** Marks the fields that selectors may use. */
  markSelectable(name: string, paths: readonly string[]): void {
    const schema = this.#schemas.get(name);
    if (schema !== undefined && paths.length > 0) schema['x-kubernetes-selectable-fields'] = paths.map((fieldPath) => ({ fieldPath }));
  }

  #object(type: ObjectType): JsonObject {
    const properties: JsonObject = {};
    const required: string[] = [];
    for (const field of type.fields.values()) {
      properties[field.name] = this.#property(type, field);
      if (field.required) required.push(field.name);
    }
    const description = describe(type.name);
    return {
      ...(description !== undefined && { description }),
      type: 'object',
      ...(required.length > 0 && { required }),
      ...(type.fields.size > 0 && { properties }),
      ...(type.atomic && { 'x-kubernetes-map-type': 'atomic' }),
    };
  }

  #property(owner: ObjectType, { name, type, default: fallback, patch, empty }: Field): JsonObject {
    const description = describe(owner.name, name);
    const isFieldSet = owner.name === managedFields.owner && name === managedFields.field;
    const schema = isFieldSet ? this.#named(managedFields) : this.#schema(type);
    const value = fallback ?? (empty === 'printed' ? zeroDefault(type) : undefined);
    const more = {
      ...(description !== undefined && { description }),
      ...(value !== undefined && this.#dialect === 'v3' && { default: value }),
      ...(patch?.mergeKey !== undefined && { 'x-kubernetes-patch-merge-key': patch.mergeKey }),
      ...(patch !== undefined && {
        'x-kubernetes-patch-strategy': [patch.merge && 'merge', patch.retainKeys && 'retainKeys'].filter(Boolean).join(','),
      }),
    };
    if (Object.keys(more).length === 0) return schema;
    // Version 3 allows nothing beside a reference; version 2 allows a description and extensions.
    return schema.$ref !== undefined && this.#dialect === 'v3' ? { allOf: [schema], ...more } : { ...schema, ...more };
  }

  #schema(type: Type): JsonObject {
    switch (type.kind) {
      case 'scalar':
        return this.#scalar(type.scalar);
      case 'object':
        return this.reference(type);
      case 'list':
        return {
          type: 'array',
          items: this.#schema(type.items),
          'x-kubernetes-list-type': type.listType,
          ...(type.listType === 'map' && { 'x-kubernetes-list-map-keys': [...type.keys] }),
        };
      case 'map':
        return {
          type: 'object',
          additionalProperties: this.#schema(type.values),
          ...(type.atomic && { 'x-kubernetes-map-type': 'atomic' }),
        };
      case 'any':
        return this.#any(type.form ?? 'json');
    }
  }

  #any(form: AnyForm): JsonObject {
    return this.#named(anySchemas[form]);
  }

  #named({ name, schema }: { readonly name: string; readonly schema: JsonObject }): JsonObject {
    this.#schemas.set(name, schema);
    return this.referenceTo(name);
  }

  #scalar(scalar: Scalar): JsonObject {
    const own = named[scalar];
    if (own === undefined) return { ...plain[scalar]! };
    this.#schemas.set(own.name, own[this.#dialect]);
    return this.referenceTo(own.name);
  }
}

/** Kubernetes publishes the zero value of always-printed fields as a default, except for types with their own UnmarshalJSON. */
function zeroDefault(type: Type): Json | undefined {
  if (type.kind !== 'scalar') return {};
  return plain[type.scalar] === undefined ? undefined : zeroScalar(type.scalar);
}
