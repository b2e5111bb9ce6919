import type { Json } from '../json.ts';
import type { AnyForm, Scalar } from './type.ts';

/** The format of the generated files. They are read at every start, so it is compact rather than pretty. */
export interface TypesFile {
  readonly names: readonly string[];
  readonly goNames: readonly string[];
  readonly types: readonly TypeRow[];
}

/** 1 if apply treats the object as one value, then the fields. */
export type TypeRow = readonly [number, ...FieldRow[]];

/**
 * JSON name, type, flags, protobuf number (0: none; a list: the numbers of the enclosing embedded messages, then its own), default or null,
 * merge key.
 */
export type FieldRow = [string, TypeCode, number, number | readonly number[], Json?, string?];

/**
 * 0 to 99: a scalar. From 100: an object, by index. Negative: any JSON, in the order of `anyForms`. `l`: list of items, list type, keys.
 * `m`: map of values, atomic. `g`: an object that is granular here although its type is atomic. `n`: a type with a name in Go: the type,
 * the name, whether protobuf wraps it in a message.
 */
export type TypeCode =
  | number
  | readonly ['l', TypeCode, number, ...string[]]
  | readonly ['m', TypeCode, number]
  | readonly ['g', number]
  | readonly ['n', TypeCode, number, number];

export const scalars: readonly Scalar[] = [
  'string',
  'bytes',
  'bool',
  'int32',
  'int64',
  'double',
  'time',
  'microTime',
  'duration',
  'quantity',
  'intOrString',
];

export const anyForms: readonly AnyForm[] = ['raw', 'json', 'schemaOrBool', 'schemaOrArray', 'schemaOrStringArray'];

export const fieldFlags = { required: 1, dropped: 2, printed: 4, null: 8, merge: 16, retainKeys: 32 } as const;

export interface ResourcesFile {
  readonly groups: readonly GroupInfo[];
  readonly resources: readonly ResourceInfo[];
}

/** An API group, in discovery order. */
export interface GroupInfo {
  readonly name: string;
  /** Newest first. */
  readonly versions: readonly string[];
  /** Served only when enabled; listed after the others. */
  readonly optionalVersions?: readonly string[];
  readonly preferredVersion: string;
}

/** A resource as discovery shows it, with the schema of its kind. */
export interface ResourceInfo {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  /** Absent for resources that can only be created, such as reviews. */
  readonly listKind?: string;
  readonly typeName: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
  readonly subresources: readonly SubresourceInfo[];
}

export interface SubresourceInfo {
  readonly name: string;
  /** The group of the kind that the subresource reads and writes, which may differ from the resource's (`Scale`). */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly typeName?: string;
}
