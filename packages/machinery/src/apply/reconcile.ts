import type { Type } from '../schema/type.ts';
import { endsPart, type Parts } from '../work/parts.ts';
import { emptySet, type FieldSet, isEmpty } from './field-set.ts';
import { fieldType } from './shape.ts';

/**
 * Turns ownership of single fields into ownership of the whole value where its type has become atomic. Returns the same set if the schema
 * did not change that way.
 */
export function* reconcile(type: Type, fields: FieldSet): Parts<FieldSet> {
  if (isEmpty(fields)) return fields;
  if (isAtomic(type)) return emptySet;
  if (type.kind !== 'object' && type.kind !== 'map' && type.kind !== 'list') return fields;
  let changed = false;
  const result: { [element: string]: FieldSet } = {};
  for (const element in fields) {
    if (endsPart()) yield;
    const node = fields[element]!;
    const inside = typeAt(type, element);
    const kept = inside === undefined || inside.kind === 'scalar' || element === '.' ? node : yield* reconcile(inside, node);
    if (kept !== node) changed = true;
    result[element] = kept;
  }
  return changed ? result : fields;
}

function isAtomic(type: Type): boolean {
  return type.kind === 'list' ? type.listType === 'atomic' : (type.kind === 'object' || type.kind === 'map') && type.atomic;
}

function typeAt(type: Type, element: string): Type | undefined {
  if (element.startsWith('f:')) return type.kind === 'list' ? undefined : fieldType(type, element.slice(2));
  return type.kind === 'list' ? type.items : undefined;
}
