import type { Json, JsonObject } from '../json.ts';
import type { ObjectType, Type } from '../schema/type.ts';
import { CodecError } from './error.ts';
import { goTypeName } from './go-type.ts';

/** A number as it was written, where that says more than its value. */
class Literal {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Numbers with a point or an exponent, or with more digits than a number holds, right after a key or in a list. Some texts look so too; few do. */
const odd = /(?:":|[[,])\s*-?(?:[0-9]+[.eE]|[0-9]{16})/;

/**
 * Refuses integers that are written as fractions, as Go does: `1.0` and `1e3` are no integers. JSON.parse does not tell them apart, so the text is read once
 * more when it has something of the kind.
 */
export function checkLiterals(text: string, type: ObjectType): void {
  if (!odd.test(text)) return;
  const revive = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
    typeof value === 'number' && (/[.eE]/.test(source) || !Number.isSafeInteger(value)) ? new Literal(source) : value;
  walk(JSON.parse(text, revive as (key: string, value: unknown) => unknown) as Json, type, []);
}

interface Step {
  readonly owner: ObjectType;
  readonly field: string;
}

function walk(value: Json | Literal, type: Type, path: readonly Step[]): void {
  if (value instanceof Literal) {
    if (type.kind === 'scalar' && refuses(value.source, type.scalar)) throw mismatch(value.source, type, path);
  } else if (Array.isArray(value)) {
    if (type.kind === 'list') for (const item of value) walk(item, type.items, path);
  } else if (typeof value === 'object' && value !== null) {
    if (type.kind === 'map') for (const item of Object.values(value)) walk(item, type.values, path);
    else if (type.kind === 'object') walkFields(value, type, path);
  }
}

function walkFields(value: JsonObject, type: ObjectType, path: readonly Step[]): void {
  for (const key in value) {
    const field = type.fields.get(key);
    if (field !== undefined) walk(value[key]!, field.type, [...path, { owner: type, field: key }]);
  }
}

function refuses(source: string, scalar: string): boolean {
  if (scalar !== 'int32' && scalar !== 'int64') return false;
  if (!/^-?[0-9]+$/.test(source)) return true;
  const bits = scalar === 'int32' ? 32 : 64;
  return BigInt.asIntN(bits, BigInt(source)) !== BigInt(source);
}

function mismatch(source: string, type: Type, path: readonly Step[]): CodecError {
  const owner = path.at(-1)!.owner.name;
  const place = `${owner.slice(owner.lastIndexOf('.') + 1)}.${path.map(({ field }) => field).join('.')}`;
  return new CodecError(`json: cannot unmarshal number ${source} into Go struct field ${place} of type ${goTypeName(type)}`);
}
