import {
  CelError,
  Double,
  Duration,
  ListValue,
  MapValue,
  type OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';

/** The name of `type(value)`. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
    case 'bigint':
      return 'int';
  }
  if (value === null) return 'null_type';
  if (value instanceof Double) return 'double';
  if (value instanceof Uint) return 'uint';
  if (value instanceof ListValue) return 'list';
  if (value instanceof MapValue) return 'map';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof CelError) return 'error';
  return (value satisfies OpaqueValue).typeName;
}
