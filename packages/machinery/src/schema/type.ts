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
  /** How Go calls the type, where it has a name of its own: messages about wrong types say it. */
  readonly goName?: string;
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
  /**
   * What Kubernetes makes of Go's zero value. `dropped`: an empty value is the same as none and never printed. `printed`: when absent the zero
   * value is printed (`""`, `0`, `false`, `{}`). `null`: when absent null is printed. Not set: a value is kept as given, and absence too.
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
  /** The embedded messages in which the field stands, outermost first: Go's JSON puts their fields into the parent, protobuf does not. */
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
  /** For `map`: the fields that identify an item, in the order of the schema. */
  readonly keys: readonly string[];
  readonly goName?: string;
  /** Protobuf puts the list into a message of its own, as field 1. */
  readonly wrapped?: boolean;
}

/** Any JSON. Apply owns it as one value, or, when deduced, looks inside maps and takes lists as one value. */
export interface AnyType {
  readonly kind: 'any';
  readonly deduced: boolean;
  readonly form?: AnyForm;
  /** What an object is read as, where the form says that it is a JSON schema. */
  readonly schema?: ObjectType;
}

/** `raw` (an object) and `json` (anything): kept as it came, protobuf carries the JSON text. The others are JSONSchemaProps or something simpler. */
export type AnyForm = 'raw' | 'json' | 'schemaOrBool' | 'schemaOrArray' | 'schemaOrStringArray';
