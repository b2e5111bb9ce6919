/** So many entries of a list, or of a map, are recorded. */
const mostEntries = 64;

/** What a client wrote, at a length that it cannot choose. What was left out is told by the size of the whole. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…(${Buffer.byteLength(text)} bytes)`;
}

export function cutList(list: readonly string[], most: number): readonly string[] {
  if (list.length <= mostEntries) return list.some((entry) => entry.length > most) ? list.map((entry) => cut(entry, most)) : list;
  return [...list.slice(0, mostEntries).map((entry) => cut(entry, most)), `…(${list.length} entries)`];
}

/** `cutValue` gives back what it need not cut. Hardly any map is cut, so that this is found out first. */
export function cutMap<T>(map: Readonly<Record<string, T>>, most: number, cutValue: (value: T) => T): Readonly<Record<string, T>> {
  const names = Object.keys(map);
  if (names.length <= mostEntries && names.every((name) => name.length <= most && cutValue(map[name]!) === map[name])) return map;
  return Object.fromEntries(names.slice(0, mostEntries).map((name) => [cut(name, most), cutValue(map[name]!)]));
}
