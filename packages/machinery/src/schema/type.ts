import type { Json } from '../json.ts';

/**
 * The shape of a kind: its field names, their values, how lists and maps merge, and how protobuf numbers them. Built-in kinds come from the
 * generated tables; custom resources are compiled from their structural schema into the same form, so that decoding, defaulting, apply and
 * patches share one model. Types may be recursive: follow them lazily.
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
  /** The type's own name in Go, if it has one: errors about wrong types use it. */
  readonly goName?: string;
}

export interface ObjectType {
  readonly kind: 'object';
  /** The schema's name, such as `io.k8s.api.core.v1.Pod`; empty for an anonymous schema. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Apply treats the object as one value: a manager owns all of it or nothing. */
  readonly atomic: boolean;
  /** Unlisted fields are kept, and apply deduces their shape. Only used by custom resources. */
  readonly preserveUnknown: boolean;
}

export interface Field {
  readonly name: string;
  readonly type: Type;
  readonly required: boolean;
  /** The schema's default, used if the field is absent. */
  readonly default?: Json;
  readonly patch?: PatchRule;
  readonly proto?: ProtoField;
  /**
   * How Kubernetes treats Go's zero value. `dropped`: an empty value equals an absent one and is never printed. `printed`: if absent, the
   * zero value is printed (`""`, `0`, `false`, `{}`). `null`: if absent, null is printed. Undefined: both values and absence are kept as
   * given.
   */
  readonly empty?: 'dropped' | 'printed' | 'null';
}

export interface PatchRule {
  readonly merge: boolean;
  readonly retainKeys: boolean;
  readonly mergeKey?: string;
}

export interface ProtoField {
  readonly number: number;
  /** The embedded messages that contain the field, outermost first: Go's JSON inlines their fields into the parent, protobuf does not. */
  readonly inline?: readonly number[];
}

export interface MapType {
  readonly kind: 'map';
  readonly values: Type;
  readonly atomic: boolean;
  readonly goName?: string;
}

export interface ListType {
  readonly kind: 'list';
  readonly items: Type;
  readonly listType: 'atomic' | 'set' | 'map';
  /** For `map`: the fields that identify an item, in schema order. */
  readonly keys: readonly string[];
  readonly goName?: string;
  /** Protobuf wraps the list in a message of its own, as field 1. */
  readonly wrapped?: boolean;
}

/** Any JSON. Apply owns it as one value or, if deduced, descends into maps and treats lists as one value. */
export interface AnyType {
  readonly kind: 'any';
  readonly deduced: boolean;
  readonly form?: AnyForm;
  /** The type used to read an object, if the form is a JSON schema. */
  readonly schema?: ObjectType;
}

/**
 * `raw` (an object) and `json` (any value) are kept verbatim; protobuf carries them as JSON text. The others are JSONSchemaProps or
 * something simpler.
 */
export type AnyForm = 'raw' | 'json' | 'schemaOrBool' | 'schemaOrArray' | 'schemaOrStringArray';
