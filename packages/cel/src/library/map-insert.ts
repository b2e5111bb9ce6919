import type { EntryMap } from '../value/collections.ts';
import { printValue } from '../value/print.ts';
import { CelError, type MapValue, type Value } from '../value/value.ts';

/** Adds an entry to the map that `transformMap` builds; keys must be unique. */
export function insertEntry(map: EntryMap, key: Value, value: Value): Value {
  return map.insert(key, value) ? map : new CelError(`insert failed: key ${printValue(key)} already exists`);
}

export function insertEntries(map: EntryMap, added: MapValue): Value {
  for (const key of added.keys()) {
    const outcome = insertEntry(map, key, added.find(key)!);
    if (outcome instanceof CelError) return outcome;
  }
  return map;
}
