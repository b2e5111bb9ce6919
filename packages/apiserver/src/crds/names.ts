import type { Names } from './summary.ts';

export interface NamesOutcome {
  readonly accepted: Names;
  /** Undefined if all names are free. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined;
}

/** The names of the other definitions in the group. */
export interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export function takenNames(others: Iterable<Names>): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { plural, singular, shortNames, kind, listKind } of others) {
    for (const name of [plural, singular, ...shortNames]) resources.add(name);
    for (const name of [kind, listKind]) kinds.add(name);
  }
  resources.delete('');
  kinds.delete('');
  return { resources, kinds };
}

/** Accepts each requested name that the definition already has or that no other definition uses. */
export function acceptNames(asked: Names, accepted: Names, taken: TakenNames): NamesOutcome {
  let conflict: NamesOutcome['conflict'];
  const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;
  const pick = (field: 'plural' | 'singular' | 'kind' | 'listKind', used: ReadonlySet<string>): string => {
    const name = asked[field];
    if (name === accepted[field] || !used.has(name)) return name;
    conflict = { reason: `${field[0]!.toUpperCase()}${field.slice(1)}Conflict`, message: inUse(name) };
    return accepted[field];
  };
  const plural = pick('plural', taken.resources);
  const singular = pick('singular', taken.resources);
  const clashes = asked.shortNames.filter((name) => !accepted.shortNames.includes(name) && taken.resources.has(name));
  if (clashes.length > 0) {
    const messages = clashes.map(inUse);
    conflict = { reason: 'ShortNamesConflict', message: messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]` };
  }
  const kind = pick('kind', taken.kinds);
  const listKind = pick('listKind', taken.kinds);
  return {
    accepted: {
      plural,
      singular,
      kind,
      listKind,
      shortNames: clashes.length > 0 ? accepted.shortNames : asked.shortNames,
      categories: asked.categories,
    },
    conflict,
  };
}
