import { equalValues } from './equality.ts';
import { goTypeOf } from './go-type.ts';
import { CelError, OpaqueValue, type Value } from './value.ts';

/** The result of `Name{field: value}`: part of an object, or a JSON patch operation. */
export class StructValue extends OpaqueValue {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  equals(other: OpaqueValue): boolean {
    if (!(other instanceof StructValue) || other.fields.size !== this.fields.size) return false;
    for (const [name, value] of this.fields) {
      const theirs = other.fields.get(name);
      if (theirs === undefined || equalValues(value, theirs) !== true) return false;
    }
    return true;
  }
}

/** A JSON patch operation, or an error: dynamic values may turn out not to be strings. */
export function operationOf(fields: ReadonlyMap<string, Value>): StructValue | CelError {
  for (const [name, value] of fields) {
    if (name === 'value' || typeof value === 'string') continue;
    return new CelError(`unexpected type ${goTypeOf(value)} for JSONPatchType '${name}' field`);
  }
  return new StructValue('JSONPatch', fields);
}
