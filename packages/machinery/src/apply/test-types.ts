import type { Json, JsonObject, KubeObject } from '../json.ts';
import type { Field, ListType, ObjectType, Type } from '../schema/type.ts';

/** Small hand-written types for the tests of this folder and of patches. */

export const text: Type = { kind: 'scalar', scalar: 'string' };
export const number: Type = { kind: 'scalar', scalar: 'int64' };
export const texts: Type = { kind: 'map', values: text, atomic: false };
export const deduced: Type = { kind: 'any', deduced: true };

type Part = Type | (Partial<Omit<Field, 'name' | 'type'>> & { readonly type: Type });

export function object(parts: Readonly<Record<string, Part>>, more: Partial<ObjectType> = {}): ObjectType {
  const fields = new Map<string, Field>();
  for (const [name, part] of Object.entries(parts))
    fields.set(name, 'kind' in part ? { name, type: part, required: false } : { name, required: false, ...part });
  return { kind: 'object', name: '', fields, atomic: false, preserveUnknown: false, ...more };
}

export const set: ListType = { kind: 'list', items: text, listType: 'set', keys: [] };
export const atomicList: ListType = { kind: 'list', items: text, listType: 'atomic', keys: [] };
export const keyed = (items: Type, ...keys: string[]): ListType => ({ kind: 'list', items, listType: 'map', keys });

const metadata = object({
  name: text,
  namespace: text,
  labels: texts,
  annotations: texts,
  finalizers: set,
  resourceVersion: text,
  managedFields: atomicList,
});

const port = object({ port: number, protocol: { type: text, default: 'TCP' }, name: text });

/** A kind with one field of every sort that apply distinguishes. */
export const widget: ObjectType = object({
  apiVersion: text,
  kind: text,
  metadata,
  spec: object({
    name: text,
    size: number,
    labels: texts,
    tags: set,
    words: atomicList,
    parts: keyed(object({ name: text, image: text, count: number, options: texts }), 'name'),
    ports: keyed(port, 'port', 'protocol'),
    selector: { kind: 'map', values: text, atomic: true },
    free: deduced,
    box: object({ a: text, b: text }),
    loose: object({ known: text }, { preserveUnknown: true }),
  }),
  status: object({ phase: text }),
});

export const now = new Date('2026-01-02T03:04:05.678Z');
export const later = new Date('2026-01-02T03:04:09Z');

export function widgetOf(spec: JsonObject | undefined, more: JsonObject = {}): JsonObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, ...(spec && { spec }), ...more };
}

export const asObject = (value: Json): KubeObject => value as unknown as KubeObject;
