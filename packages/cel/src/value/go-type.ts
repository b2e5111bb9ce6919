import { typeNameOf } from './type-name.ts';
import type { Value } from './value.ts';

const names: ReadonlyMap<string, string> = new Map([
  ['int', 'int64'],
  ['uint', 'uint64'],
  ['double', 'float64'],
  ['bytes', '[]uint8'],
  ['null_type', 'structpb.NullValue'],
  ['list', '[]ref.Val'],
  ['map', 'map[ref.Val]ref.Val'],
  ['google.protobuf.Timestamp', 'time.Time'],
  ['google.protobuf.Duration', 'time.Duration'],
]);

/** The Go name of a value's type, for errors about wrong types. */
export function goTypeOf(value: Value): string {
  const name = typeNameOf(value);
  return names.get(name) ?? name;
}
