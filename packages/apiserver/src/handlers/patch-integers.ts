import { isObject, type Json, type Type } from '@capstan/machinery';

/**
 * Strategic patches and applied configurations are put into the object without a round trip through JSON: Go keeps the lower bits
 * of an integer that is too large for its field. Modifies the value; returns false if there was nothing to truncate.
 */
export function cutIntegers(value: Json | undefined, type: Type): boolean {
  switch (type.kind) {
    case 'object': {
      if (!isObject(value)) return false;
      let isCut = false;
      for (const [name, field] of type.fields) {
        if (!Object.hasOwn(value, name)) continue;
        const kept = lowerHalf(value[name], field.type);
        if (kept === undefined) isCut = cutIntegers(value[name], field.type) || isCut;
        else {
          value[name] = kept;
          isCut = true;
        }
      }
      return isCut;
    }
    case 'list':
      return Array.isArray(value) && cutItems(value, type.items);
    case 'map': {
      if (!isObject(value)) return false;
      let isCut = false;
      for (const item of Object.values(value)) isCut = cutIntegers(item, type.values) || isCut;
      return isCut;
    }
    default:
      return false;
  }
}

function cutItems(items: Json[], type: Type): boolean {
  let isCut = false;
  for (const [index, item] of items.entries()) {
    const kept = lowerHalf(item, type);
    if (kept !== undefined) items[index] = kept;
    isCut = kept !== undefined || cutIntegers(item, type) || isCut;
  }
  return isCut;
}

function lowerHalf(value: Json | undefined, type: Type): number | undefined {
  if (type.kind !== 'scalar' || type.scalar !== 'int32') return undefined;
  if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isInteger(value))) return undefined;
  const kept = Number(BigInt.asIntN(32, BigInt(value)));
  return kept === Number(value) ? undefined : kept;
}
