import { createdByAnnotation } from '@capstan/api';
import { isObject, type Json, type JsonObject, type KubeObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import type { RestResource } from './resource.ts';

/** Members of every object that the server sets. They are ignored in bodies, so that an object that was read can be sent back. */
export const readOnlyMembers = [
  'id',
  'uid',
  'workspace',
  'namespace',
  'phase',
  'createdAt',
  'createdBy',
  'deletingSince',
  'generation',
  'version',
  'status',
] as const;
/** Members of every object that the caller sets. */
export const writableMembers = ['name', 'labels'] as const;

/** An object as the REST API shows it: its spec is not nested. */
export type RestObject = JsonObject & { readonly id: string };

/** A field of a spec whose name every object has already, and its name here. */
const renamed: Readonly<Record<string, string>> = { version: 'appVersion' };

export const restField = (field: string): string => renamed[field] ?? field;

/** The fields of the spec, by their names here. */
function specFields({ kind }: RestResource): ReadonlyMap<string, string> {
  const { spec } = kind.versions[kind.version]!;
  const fields = isObject(spec?.json['properties']) ? Object.keys(spec.json['properties']) : [];
  return new Map(fields.map((field) => [restField(field), field]));
}

export function toRest(object: KubeObject, workspace: string): RestObject {
  const { metadata } = object;
  const { name = '', namespace, labels, annotations, deletionTimestamp } = metadata;
  const { spec, status } = object as KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };
  const phase = status?.['phase'];
  const createdBy = annotations?.[createdByAnnotation];
  return {
    id: name,
    name,
    uid: metadata.uid ?? '',
    workspace,
    ...(namespace !== undefined && { namespace }),
    ...(phase !== undefined && { phase }),
    ...(labels !== undefined && { labels }),
    createdAt: metadata.creationTimestamp ?? '',
    ...(createdBy !== undefined && { createdBy }),
    ...(deletionTimestamp !== undefined && { deletingSince: deletionTimestamp }),
    ...(metadata.generation !== undefined && { generation: metadata.generation }),
    version: metadata.resourceVersion ?? '',
    ...Object.fromEntries(Object.entries(spec ?? {}).map(([field, value]) => [restField(field), value])),
    ...(status !== undefined && { status }),
  };
}

/** A body, taken apart. A member that is absent from the body is undefined here. */
export interface Wanted {
  readonly name: string | undefined;
  readonly labels: Json | undefined;
  /** The version that the caller has read. */
  readonly version: string | undefined;
  readonly spec: JsonObject;
}

export function fromRest(resource: RestResource, body: JsonObject): Wanted {
  const known = specFields(resource);
  const others = new Set<string>([...readOnlyMembers, ...writableMembers]);
  const unknown = Object.keys(body).filter((key) => !known.has(key) && !others.has(key));
  if (unknown.length > 0) {
    const errors = unknown.slice(0, 32).map((field) => ({ field, message: 'is not a field of this resource' }));
    throw new Problem('validation_failed', `Unknown fields: ${unknown.slice(0, 8).join(', ').slice(0, 500)}.`, { errors });
  }
  const name = textMember(body, 'name');
  const version = textMember(body, 'version');
  const spec = Object.fromEntries(
    Object.entries(body).flatMap(([key, value]) => (known.has(key) ? [[known.get(key)!, value]] : [])),
  ) as JsonObject;
  return { name, version, labels: body['labels'], spec };
}

function textMember(body: JsonObject, field: string): string | undefined {
  const value = Object.hasOwn(body, field) ? body[field] : undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new Problem('validation_failed', `${field} must be text.`, { errors: [{ field, message: 'must be text' }] });
}
