import type { Json } from '../json.ts';
import type { Field, ObjectType, Type } from '../schema/type.ts';

export const isBuiltIn = (type: Type): boolean => type.kind === 'object' && type.name.startsWith('io.k8s.');

/**
 * The content of a field in Go's zero value: absent, an empty struct, or a plain zero. Kubernetes treats a create as a change to that
 * value, in which fields that are always printed already exist. Nobody adds them, so nobody owns them: a Deployment's `f:spec` has no `.`,
 * but a custom resource's does.
 */
export type Zero = 'absent' | 'struct' | { readonly value: Json };

const absent: Zero = 'absent';
const nothing: Zero = { value: null };
const zeros: Readonly<Record<string, Zero>> = { bool: { value: false }, int32: { value: 0 }, int64: { value: 0 }, double: { value: 0 } };
const noText: Zero = { value: '' };

const known = new WeakMap<ObjectType, ReadonlyMap<string, Zero>>();

/** The fields of a built-in type that exist in Go's zero value. */
export function zeroFields(type: ObjectType): ReadonlyMap<string, Zero> {
  let fields = known.get(type);
  if (fields === undefined) {
    fields = new Map(
      [...type.fields.values()].map((field): [string, Zero] => [field.name, zeroOf(field)]).filter(([, zero]) => zero !== absent),
    );
    known.set(type, fields);
  }
  return fields;
}

function zeroOf({ name, type, empty }: Field): Zero {
  if (empty === 'null') return nothing;
  if (empty !== 'printed' && name !== 'metadata') return absent;
  if (type.kind === 'object') return 'struct';
  return type.kind === 'scalar' ? (zeros[type.scalar] ?? noText) : nothing;
}
