import type { ObjectField } from './declaration.ts';
import { dyn, string } from './declare.ts';
import { objectOf, openObjectOf, type Type } from './type.ts';

/** The types that `Name{field: value}` may create. */
export interface StructTypes {
  find(name: string): Type | undefined;
}

export const noStructs: StructTypes = { find: () => undefined };

const fields: readonly (readonly [string, ObjectField])[] = [
  ['op', { property: 'op', declaration: string }],
  ['path', { property: 'path', declaration: string }],
  ['from', { property: 'from', declaration: string }],
  ['value', { property: 'value', declaration: dyn }],
];

const JSON_PATCH: Type = objectOf('JSONPatch', new Map(fields));

/** The types for patches: a part of an object, named by its path (`Object.spec.template`), and a JSON patch operation. */
export const patchTypes: StructTypes = {
  find(name) {
    if (name === 'JSONPatch') return JSON_PATCH;
    return name === 'Object' || name.startsWith('Object.') ? openObjectOf(name) : undefined;
  },
};
