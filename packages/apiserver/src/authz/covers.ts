import { fieldError, limitSteps, spend } from '@capstan/machinery';
import { type PolicyRule, urlMatches } from './rule.ts';

const none: readonly string[] = [];

/** More parts than the rules of any honest role have. Each rule that is held can split every part into four. */
const mostSteps = 5_000_000;

/** The part of some rules that others do not permit. */
export interface Missing {
  /** How many combinations of group, resource, verb and name, or of URL and verb, there are. */
  readonly total: number;
  /** The first of them, as rules with one group, resource, verb and name each. */
  pieces(most: number): PolicyRule[];
}

/**
 * The part of `wanted` that the rules in `held` do not permit. Never writes combinations out to find it: a rule with hundreds of groups,
 * resources and verbs has millions of them. Throws OutOfSteps if the rules are too intricate to decide.
 */
export function missingFrom(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Missing {
  const left = limitSteps(mostSteps, () => {
    const covers = held.map(coverOf);
    return wanted.map((rule) => boxesOf(rule).flatMap((box) => outside(box, covers)));
  });
  const total = left.flat().reduce((sum, box) => sum + volumeOf(box), 0);
  return { total, pieces: (most) => firstPieces(wanted, left, most) };
}

/** The whole missing part, for rules that are known to be few. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return missingFrom(held, wanted).pieces(Number.POSITIVE_INFINITY);
}

/** Stands for all names, which only a rule without names permits. */
const anyName = Symbol('any name');
type Value = string | typeof anyName;

/** All combinations of one value of each list: group, resource, verb and name; or URL and verb. */
interface Box {
  readonly kind: 'resource' | 'url';
  readonly sides: readonly (readonly Value[])[];
}

function boxesOf(rule: PolicyRule): Box[] {
  const verbs = distinct(rule.verbs);
  const names: readonly Value[] = (rule.resourceNames ?? none).length === 0 ? [anyName] : distinct(rule.resourceNames);
  const boxes: Box[] = [
    { kind: 'resource', sides: [distinct(rule.apiGroups), distinct(rule.resources), verbs, names] },
    { kind: 'url', sides: [distinct(rule.nonResourceURLs), verbs] },
  ];
  return boxes.filter((box) => volumeOf(box) > 0);
}

function distinct(values: readonly string[] | undefined): readonly string[] {
  return [...new Set(values ?? none)];
}

function volumeOf({ sides }: Box): number {
  return sides.reduce((volume, side) => volume * side.length, 1);
}

/** Whether a held rule permits a value, for each side of a box. */
type Cover = Readonly<Record<Box['kind'], readonly ((value: Value) => boolean)[]>>;

function coverOf(rule: PolicyRule): Cover {
  const verb = containing(rule.verbs);
  // Names have no wildcard: a star is the name of an object.
  const names: ReadonlySet<Value> = new Set(rule.resourceNames);
  const hasNames = names.size > 0;
  const resources = containing(rule.resources);
  const resource = (value: Value): boolean => {
    if (resources(value)) return true;
    const slash = String(value).indexOf('/');
    return slash !== -1 && resources(`*${String(value).slice(slash)}`);
  };
  const name = (value: Value): boolean => !hasNames || names.has(value);
  const url = (value: Value): boolean => {
    spend(rule.nonResourceURLs?.length ?? 0);
    return (rule.nonResourceURLs ?? none).some((pattern) => urlMatches(pattern, value as string));
  };
  return { resource: [containing(rule.apiGroups), resource, verb, name], url: [(value) => !hasNames && url(value), verb] };
}

function containing(list: readonly string[] | undefined): (value: Value) => boolean {
  const values: ReadonlySet<Value> = new Set(list ?? none);
  const all = values.has('*');
  return (value) => all || values.has(value);
}

/** The parts of the box that no rule covers. They do not overlap. */
function outside(box: Box, covers: readonly Cover[]): Box[] {
  let left: Box[] = [box];
  for (const cover of covers) {
    if (left.length === 0) break;
    const permits = cover[box.kind];
    left = left.flatMap((part) => cutOut(part, permits));
  }
  return left;
}

function cutOut(box: Box, permits: readonly ((value: Value) => boolean)[]): Box[] {
  const inside: Value[][] = [];
  for (const [at, side] of box.sides.entries()) {
    spend(side.length + 1);
    const permitted = side.filter((value) => permits[at]!(value));
    if (permitted.length === 0) return [box];
    inside.push(permitted);
  }
  return box.sides.flatMap((side, at) => {
    if (inside[at]!.length === side.length) return [];
    const permitted = new Set(inside[at]);
    const rest = side.filter((value) => !permitted.has(value));
    return [{ kind: box.kind, sides: [...inside.slice(0, at), rest, ...box.sides.slice(at + 1)] }];
  });
}

/** In the order in which the rules list them. */
function firstPieces(wanted: readonly PolicyRule[], left: readonly (readonly Box[])[], most: number): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  for (const [at, rule] of wanted.entries()) {
    const own: PolicyRule[] = [];
    for (const box of left[at]!) own.push(...combinations(box, most - pieces.length - own.length));
    const order = [rule.apiGroups, rule.resources, rule.verbs, rule.resourceNames, rule.nonResourceURLs].map((values) => positions(values));
    own.sort((one, other) => compare(order, one, other));
    pieces.push(...own);
    if (pieces.length >= most) break;
  }
  return pieces;
}

function combinations({ kind, sides }: Box, most: number): PolicyRule[] {
  const found: PolicyRule[] = [];
  const chosen: Value[] = [];
  const choose = (at: number): void => {
    if (at === sides.length) {
      found.push(pieceOf(kind, chosen));
      return;
    }
    for (const value of sides[at]!) {
      if (found.length >= most) return;
      chosen[at] = value;
      choose(at + 1);
    }
  };
  choose(0);
  return found;
}

function pieceOf(kind: Box['kind'], values: readonly Value[]): PolicyRule {
  const [first, second, third, name] = values as string[];
  if (kind === 'url') return { verbs: [second!], nonResourceURLs: [first!] };
  const piece = { verbs: [third!], apiGroups: [first!], resources: [second!] };
  return values[3] === anyName ? piece : { ...piece, resourceNames: [name!] };
}

function positions(values: readonly string[] | undefined): ReadonlyMap<string, number> {
  return new Map((values ?? none).map((value, index) => [value, index] as const).toReversed());
}

function compare(
  [groups, resources, verbs, names, urls]: readonly ReadonlyMap<string, number>[],
  one: PolicyRule,
  other: PolicyRule,
): number {
  const place = (order: ReadonlyMap<string, number> | undefined, values: readonly string[] | undefined): number =>
    values === undefined ? -1 : (order?.get(values[0]!) ?? -1);
  return (
    place(urls, one.nonResourceURLs) - place(urls, other.nonResourceURLs) ||
    place(groups, one.apiGroups) - place(groups, other.apiGroups) ||
    place(resources, one.resources) - place(resources, other.resources) ||
    place(verbs, one.verbs) - place(verbs, other.verbs) ||
    place(names, one.resourceNames) - place(names, other.resourceNames)
  );
}

/** Merges pieces that differ only in the verb, to keep messages short. */
export function compact(pieces: readonly PolicyRule[]): PolicyRule[] {
  const joined = new Map<string, PolicyRule & { verbs: string[] }>();
  const rest: PolicyRule[] = [];
  for (const piece of pieces) {
    if (piece.nonResourceURLs !== undefined) {
      rest.push(piece);
      continue;
    }
    const key = JSON.stringify([piece.apiGroups, piece.resources, piece.resourceNames]);
    const existing = joined.get(key);
    if (existing === undefined) joined.set(key, { ...piece, verbs: [...(piece.verbs ?? none)] });
    else existing.verbs.push(...(piece.verbs ?? none));
  }
  return [...rest, ...joined.values()];
}

/** Formats a rule as in Kubernetes' messages: `{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`. */
export function printRule(rule: PolicyRule): string {
  const part = (title: string, values: readonly string[] | undefined): string[] =>
    values === undefined || values.length === 0 ? [] : [`${title}:${printList(values)}`];
  return `{${[
    ...part('APIGroups', rule.apiGroups),
    ...part('Resources', rule.resources),
    ...part('NonResourceURLs', rule.nonResourceURLs),
    ...part('ResourceNames', rule.resourceNames),
    ...part('Verbs', rule.verbs),
  ].join(', ')}}`;
}

export const printList = (values: readonly string[]): string => `[${values.map(fieldError.quote).join(' ')}]`;
