import { builtinTypes } from '../schema/table.ts';
import type { Field, ObjectType, Type } from '../schema/type.ts';
import type { Schema } from './schema.ts';

const anything: Type = { kind: 'any', deduced: true };
const scalars = { string: 'string', integer: 'int64', number: 'double', boolean: 'bool' } as const;

/** The type of a custom resource for apply and patches. Every resource has an apiVersion, kind and metadata. */
export function typeOfResource(schema: Schema, name: string): ObjectType {
  const type = objectType(schema, name, true);
  return schema.preserveUnknown ? { ...type, preserveUnknown: true } : type;
}

function objectType(schema: Schema, name: string, isResource: boolean): ObjectType {
  const fields = new Map<string, Field>();
  for (const [property, inner] of schema.properties) {
    fields.set(property, lazyField(property, inner, schema.required.has(property)));
  }
  if (isResource) {
    const text = { kind: 'scalar', scalar: 'string' } as const;
    fields.set('apiVersion', { name: 'apiVersion', type: text, required: false });
    fields.set('kind', { name: 'kind', type: text, required: false });
    const metadata = builtinTypes().object('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta');
    fields.set('metadata', { name: 'metadata', type: metadata, required: false });
  }
  return { kind: 'object', name, fields, atomic: schema.mapType === 'atomic', preserveUnknown: schema.preserveUnknown };
}

/** Types of fields are built on first use: most of a large schema is never needed. */
function lazyField(name: string, schema: Schema, required: boolean): Field {
  let type: Type | undefined;
  return {
    name,
    required,
    get type() {
      return (type ??= typeOf(schema));
    },
  };
}

function typeOf(schema: Schema): Type {
  if (schema.intOrString) return { kind: 'scalar', scalar: 'intOrString' };
  switch (schema.type) {
    case 'object':
      return typeOfObject(schema);
    case 'array':
      return typeOfList(schema);
    case '':
      return anything;
    default:
      return Object.hasOwn(scalars, schema.type) ? { kind: 'scalar', scalar: scalars[schema.type as keyof typeof scalars] } : anything;
  }
}

function typeOfObject(schema: Schema): Type {
  if (schema.properties.size > 0 || schema.embeddedResource) return objectType(schema, '', schema.embeddedResource);
  const atomic = schema.mapType === 'atomic';
  if (schema.additional?.schema !== undefined) return { kind: 'map', values: typeOf(schema.additional.schema), atomic };
  if (atomic) return { kind: 'map', values: anything, atomic };
  if (schema.preserveUnknown) return { kind: 'object', name: '', fields: new Map(), atomic: false, preserveUnknown: true };
  return schema.additional === undefined
    ? { kind: 'object', name: '', fields: new Map(), atomic: false, preserveUnknown: false }
    : anything;
}

function typeOfList({ items, listType, listKeys }: Schema): Type {
  if (items === undefined) return { kind: 'list', items: anything, listType: 'atomic', keys: [] };
  const kind = listType === 'set' || listType === 'map' ? listType : 'atomic';
  return {
    kind: 'list',
    items: kind === 'map' ? keyedItems(items, listKeys) : typeOf(items),
    listType: kind,
    keys: kind === 'map' ? listKeys : [],
  };
}

/** Omitted keys have their default: apply needs it to tell items apart. */
function keyedItems(items: Schema, keys: readonly string[]): Type {
  const type = typeOf(items);
  if (type.kind !== 'object') return type;
  const fields = new Map(type.fields);
  for (const key of keys) {
    const schema = items.properties.get(key);
    if (schema?.default !== undefined)
      fields.set(key, { name: key, type: typeOf(schema), required: items.required.has(key), default: schema.default });
  }
  return { ...type, fields };
}
