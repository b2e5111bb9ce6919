import { definedKinds, objectSchema } from '@capstan/api';
import { type CompiledSchema, type JsonObject, sameJson } from '@capstan/machinery';

/** By their descriptions, which are looked at first: schemas of strangers can be large. */
let own: ReadonlyMap<unknown, JsonObject> | undefined;

/** Whether a schema is one of Capstan's own kinds, as this version defines them. */
export function isOwnSchema({ schema: { json } }: CompiledSchema): boolean {
  own ??= new Map(definedKinds.flatMap((kind) => Object.values(kind.versions).map((one) => [kind.description, objectSchema(kind, one)])));
  const known = own.get(json['description']);
  return known !== undefined && sameJson(known, json);
}
