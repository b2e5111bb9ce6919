/** The maximum number of entries recorded of a list or map. */
const mostEntries = 64;

/** Truncates a text sent by a client, and appends the size of the whole. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…(${Buffer.byteLength(text)} bytes)`;
}

export function cutList(list: readonly string[], most: number): readonly string[] {
  if (list.length <= mostEntries) return list.some((entry) => entry.length > most) ? list.map((entry) => cut(entry, most)) : list;
  return [...list.slice(0, mostEntries).map((entry) => cut(entry, most)), `…(${list.length} entries)`];
}

/** `cutValue` must return a value unchanged if it needs no cutting. Few maps need it, so that is checked first. */
export function cutMap<T>(map: Readonly<Record<string, T>>, most: number, cutValue: (value: T) => T): Readonly<Record<string, T>> {
  const names = Object.keys(map);
  if (names.length <= mostEntries && names.every((name) => name.length <= most && cutValue(map[name]!) === map[name])) return map;
  return Object.fromEntries(names.slice(0, mostEntries).map((name) => [cut(name, most), cutValue(map[name]!)]));
}
