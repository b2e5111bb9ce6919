import type { Json } from '../json.ts';
import type { Field, ObjectType, Type } from '../schema/type.ts';

export const isBuiltIn = (type: Type): boolean => type.kind === 'object' && type.name.startsWith('io.k8s.');

/**
 * What stands in a field of the empty Go value: nothing, an empty struct, or a plain zero. Kubernetes takes a create as a change of that value, where what
 * is always printed is there from the start. Nobody adds it, so nobody owns it: `f:spec` has no `.` for a Deployment, but has one for a custom resource.
 */
export type Zero = 'absent' | 'struct' | { readonly value: Json };

const absent: Zero = 'absent';
const nothing: Zero = { value: null };
const zeros: Readonly<Record<string, Zero>> = { bool: { value: false }, int32: { value: 0 }, int64: { value: 0 }, double: { value: 0 } };
const noText: Zero = { value: '' };

const known = new WeakMap<ObjectType, ReadonlyMap<string, Zero>>();

/** The fields of the empty Go value of a built-in type that are not absent. */
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
