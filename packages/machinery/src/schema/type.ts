import type { Json } from '../json.ts';

/**
 * The shape of a kind: what its fields are called, what may stand in them, how lists and maps merge, and how protobuf numbers them.
 * Built-in kinds come from the generated tables; custom resources are compiled from their structural schema into the same form, so that
 * decoding, defaulting, apply and patches know one model only. Types may be recursive: follow them lazily.
 */
export type Type = ScalarType | ObjectType | MapType | ListType | AnyType;

export type Scalar =
  | 'string'
  | 'bytes'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'double'
  | 'time'
  | 'microTime'
  | 'duration'
  | 'quantity'
  | 'intOrString';

export interface ScalarType {
  readonly kind: 'scalar';
  readonly scalar: Scalar;
}

export interface ObjectType {
  readonly kind: 'object';
  /** The schema's name, such as `io.k8s.api.core.v1.Pod`; empty for an anonymous one. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Apply treats it as one value: a manager owns all of it or nothing. */
  readonly atomic: boolean;
  /** Fields that are not listed are kept; apply deduces their shape. Only custom resources have it. */
  readonly preserveUnknown: boolean;
}

export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly required: boolean;
  /** From the schema; applied when the field is absent. */
  readonly default?: Json;
  readonly patch?: PatchRule;
  readonly proto?: ProtoField;
}

export interface PatchRule {
  readonly merge: boolean;
  readonly retainKeys: boolean;
  readonly mergeKey?: string;
}

export interface ProtoField {
  readonly number: number;
  /** The message's fields stand in the parent's JSON: Go embeds the struct, protobuf does not. */
  readonly inline?: boolean;
}

export interface MapType {
  readonly kind: 'map';
  readonly values: Type;
  readonly atomic: boolean;
}

export interface ListType {
  readonly kind: 'list';
  readonly items: Type;
  readonly listType: 'atomic' | 'set' | 'map';
  /** For `map`: the fields that identify an item, in the order of the schema. */
  readonly keys: readonly string[];
}

/** Any JSON. Apply owns it as one value, or, when deduced, looks inside maps and takes lists as one value. */
export interface AnyType {
  readonly kind: 'any';
  readonly deduced: boolean;
}
