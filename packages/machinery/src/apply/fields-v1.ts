import { isObject, type Json } from '../json.ts';
import { emptySet, type FieldSet, sorted } from './field-set.ts';
import { parsePathElement } from './path-element.ts';

/** A fieldsV1 that cannot be decoded. The caller decides whether that matters. */
export class MalformedFields extends Error {
  override readonly name = 'MalformedFields';
}

const deepest = 500;

/** Decodes fieldsV1 from a client: validates and canonicalizes it, and drops unknown kinds of path elements. */
export function decodeFields(fields: Json | undefined): FieldSet {
  if (fields === undefined || fields === null) return emptySet;
  return decodeNode(fields, 0);
}

function decodeNode(fields: Json, depth: number): FieldSet {
  if (!isObject(fields)) throw new MalformedFields(`expected a map of path elements, got ${JSON.stringify(fields)}`);
  if (depth > deepest) throw new MalformedFields(`nested deeper than ${deepest} levels`);
  const result: { [element: string]: FieldSet } = {};
  let member = false;
  let count = 0;
  for (const key of Object.keys(fields)) {
    if (key === '.') {
      member = true;
      continue;
    }
    const parsed = parsePathElement(key);
    if (parsed === 'unknown') continue;
    if ('error' in parsed) throw new MalformedFields(`parsing key as path element: ${parsed.error}`);
    result[parsed.element] = decodeNode(fields[key]!, depth + 1);
    count++;
  }
  if (count === 0) return emptySet;
  return sorted(member && depth > 0 ? { '.': emptySet, ...result } : result);
}
