import { fieldError } from '@capstan/machinery';
import { type PolicyRule, urlMatches } from './rule.ts';

const none: readonly string[] = [];

/**
 * The part of `wanted` that the rules in `held` do not permit, split into rules with one group, resource, verb and name each. Empty if
 * everything is covered.
 */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  return wanted.flatMap(cutUp).filter((piece) => !held.some((rule) => covers(rule, piece)));
}

function cutUp(rule: PolicyRule): PolicyRule[] {
  const pieces: PolicyRule[] = [];
  for (const group of rule.apiGroups ?? none) {
    for (const resource of rule.resources ?? none) {
      for (const verb of rule.verbs ?? none) {
        const piece = { verbs: [verb], apiGroups: [group], resources: [resource] };
        const names = rule.resourceNames ?? none;
        if (names.length === 0) pieces.push(piece);
        for (const name of names) pieces.push({ ...piece, resourceNames: [name] });
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? none) {
    for (const verb of rule.verbs ?? none) pieces.push({ verbs: [verb], nonResourceURLs: [url] });
  }
  return pieces;
}

/** Whether a rule permits everything that a piece does. A piece has at most one value in each list. */
function covers(rule: PolicyRule, piece: PolicyRule): boolean {
  return (
    containsOrAll(rule.verbs ?? none, piece.verbs?.[0]) &&
    containsOrAll(rule.apiGroups ?? none, piece.apiGroups?.[0]) &&
    coversResource(rule.resources ?? none, piece.resources?.[0]) &&
    coversName(rule.resourceNames ?? none, piece.resourceNames?.[0]) &&
    coversUrl(rule.nonResourceURLs ?? none, piece.nonResourceURLs?.[0])
  );
}

function containsOrAll(list: readonly string[], value: string | undefined): boolean {
  return value === undefined || list.includes('*') || list.includes(value);
}

function coversResource(list: readonly string[], resource: string | undefined): boolean {
  if (containsOrAll(list, resource)) return true;
  const slash = resource!.indexOf('/');
  return slash !== -1 && list.includes(`*${resource!.slice(slash)}`);
}

function coversName(names: readonly string[], name: string | undefined): boolean {
  return names.length === 0 || (name !== undefined && names.includes(name));
}

function coversUrl(patterns: readonly string[], url: string | undefined): boolean {
  return url === undefined || patterns.some((pattern) => urlMatches(pattern, url));
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
