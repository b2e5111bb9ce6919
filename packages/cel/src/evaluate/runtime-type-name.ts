import type { Type } from '../types/type.ts';

/** The result of `type(x)` for a value of the type; `name` is the type's name in expressions. */
export function runtimeTypeName(type: Type | undefined, name: string): string {
  switch (type?.kind) {
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'object':
      // Data with a schema is a map at run time.
      return type.fields === undefined || type.name === 'JSONPatch' ? type.name : 'map';
    default:
      return name;
  }
}
