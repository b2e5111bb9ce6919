import type { ObjectFields } from './declaration.ts';

export type PrimitiveKind = 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'timestamp' | 'duration' | 'null' | 'dyn' | 'error';

/** The type of an expression, for the checker. */
export type Type =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: 'list'; readonly element: Type }
  | { readonly kind: 'map'; readonly key: Type; readonly value: Type }
  /** A named type. `fields` are those that `.` may select; a type with only methods has none. An open type has any field. */
  | { readonly kind: 'object'; readonly name: string; readonly fields?: ObjectFields; readonly isOpen?: boolean }
  | { readonly kind: 'opaque'; readonly name: string; readonly parameters: readonly Type[] }
  | { readonly kind: 'type'; readonly of: Type | undefined }
  | { readonly kind: 'parameter'; readonly name: string };

export const BOOL: Type = { kind: 'bool' };
export const INT: Type = { kind: 'int' };
export const UINT: Type = { kind: 'uint' };
export const DOUBLE: Type = { kind: 'double' };
export const STRING: Type = { kind: 'string' };
export const BYTES: Type = { kind: 'bytes' };
export const TIMESTAMP: Type = { kind: 'timestamp' };
export const DURATION: Type = { kind: 'duration' };
export const NULL: Type = { kind: 'null' };
export const DYN: Type = { kind: 'dyn' };
export const ERROR: Type = { kind: 'error' };

export const listOf = (element: Type): Type => ({ kind: 'list', element });
export const mapOf = (key: Type, value: Type): Type => ({ kind: 'map', key, value });
export const objectOf = (name: string, fields?: ObjectFields): Type =>
  fields === undefined ? { kind: 'object', name } : { kind: 'object', name, fields };
/** An object that may have any field of any type. */
export const openObjectOf = (name: string): Type => ({ kind: 'object', name, isOpen: true });
export const opaqueOf = (name: string, ...parameters: Type[]): Type => ({ kind: 'opaque', name, parameters });
export const optionalOf = (of: Type): Type => opaqueOf('optional_type', of);
export const typeOf = (of: Type | undefined): Type => ({ kind: 'type', of });
export const parameter = (name: string): Type => ({ kind: 'parameter', name });

export function isOptional(type: Type): type is Type & { kind: 'opaque' } {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** The type inside an optional, or the type itself. */
export function unwrapOptional(type: Type): Type {
  return isOptional(type) ? type.parameters[0]! : type;
}

export function parametersOf(type: Type): readonly Type[] {
  switch (type.kind) {
    case 'list':
      return [type.element];
    case 'map':
      return [type.key, type.value];
    case 'opaque':
      return type.parameters;
    case 'type':
      return type.of === undefined ? [] : [type.of];
    default:
      return [];
  }
}

/** How deep a type is nested: 1 for a plain one. */
export function typeDepth(type: Type): number {
  let deepest = 0;
  for (const part of parametersOf(type)) deepest = Math.max(deepest, typeDepth(part));
  return deepest + 1;
}

/** The type as error messages show it: `list(string)`, `map(string, int)`, `!error!`. */
export function printType(type: Type): string {
  switch (type.kind) {
    case 'error':
      return '!error!';
    case 'object':
    case 'parameter':
      return type.name;
    case 'opaque':
      return withParameters(type.name, type.parameters);
    case 'list':
    case 'map':
    case 'type':
      return withParameters(type.kind, parametersOf(type));
    default:
      return type.kind;
  }
}

function withParameters(name: string, parameters: readonly Type[]): string {
  return parameters.length === 0 ? name : `${name}(${parameters.map(printType).join(', ')})`;
}

/** `(int, string)`, or `string.(int)` for a method. */
export function printSignature(types: readonly Type[], isMethod: boolean): string {
  const names = types.map(printType);
  if (!isMethod) return `(${names.join(', ')})`;
  return `${names[0]}.(${names.slice(1).join(', ')})`;
}

export function sameType(one: Type, other: Type): boolean {
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  if ('name' in one && one.name !== (other as { name: string }).name) return false;
  const left = parametersOf(one);
  const right = parametersOf(other);
  return left.length === right.length && left.every((type, index) => sameType(type, right[index]!));
}
