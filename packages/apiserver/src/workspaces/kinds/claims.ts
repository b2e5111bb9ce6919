import { type Fields, fieldsOf, isObject, itemsOf } from '@capstan/machinery';
import type { Notes } from './notes.ts';

/** A list of permission claims in an object, and the annotations that make its conversion lossless. */
export interface ClaimList {
  readonly field: string;
  /** Claims of a binding select objects; claims of an export do not. */
  readonly scoped: boolean;
  /** The annotation in which v1alpha1 keeps claims with verbs or selectors, which it cannot express. */
  readonly notedInV1alpha1: string;
  /** The annotation in which v1alpha2 keeps claims with `all` or a resource selector, which it cannot express. */
  readonly notedInV1alpha2: string;
}

const everything = ['*'];

/** The part of the object with the list, its claims converted to v1alpha2. */
export function claimsToV1alpha2(part: Fields, list: ClaimList, notes: Notes): Fields {
  const noted = notes.take(list.notedInV1alpha1);
  const claims = part[list.field];
  if (!Array.isArray(claims)) {
    notes.put(list.notedInV1alpha2, []);
    return part;
  }
  notes.put(list.notedInV1alpha2, (list.scoped ? itemsOf(claims).filter(hasResourceSelector) : itemsOf(claims)).map(withoutEmpty));
  const converted = itemsOf(claims).map((claim) => {
    const { all: _all, resourceSelector: _selector, ...rest } = withoutEmpty(claim);
    const note = fieldsOf(noteAbout(claim, noted));
    const verbs = isTexts(note['verbs']) ? note['verbs'] : everything;
    const defaultSelector = limitedBy(note['defaultSelector']);
    const known = { ...rest, verbs, ...(defaultSelector !== undefined && { defaultSelector }) };
    return list.scoped ? { ...known, selector: limitedBy(note['selector']) ?? { matchAll: true } } : known;
  });
  return { ...part, [list.field]: converted };
}

/** The part of the object with the list, its claims converted to v1alpha1. */
export function claimsToV1alpha1(part: Fields, list: ClaimList, notes: Notes): Fields {
  const noted = notes.take(list.notedInV1alpha2);
  const claims = part[list.field];
  if (!Array.isArray(claims)) {
    notes.put(list.notedInV1alpha1, []);
    return part;
  }
  const limited = itemsOf(claims).filter((claim) => !isUnlimited(claim, list));
  notes.put(list.notedInV1alpha1, limited.map(withoutEmpty));
  const converted = itemsOf(claims).map((claim) => {
    const { verbs: _verbs, selector, defaultSelector: _default, ...rest } = withoutEmpty(claim);
    const note = noteAbout(claim, noted);
    const all = note === undefined ? list.scoped && fieldsOf(selector)['matchAll'] === true : note['all'] === true;
    const resourceSelector = resourceSelectorIn(note);
    return { ...rest, ...(all && { all }), ...(resourceSelector.length > 0 && { resourceSelector }) };
  });
  return { ...part, [list.field]: converted };
}

/** Like kcp, omits an empty group (the core group) and an empty identity. */
function withoutEmpty(claim: Fields): Fields {
  const { group, identityHash, ...rest } = claim;
  return {
    ...(group !== '' && group !== undefined && { group }),
    ...(identityHash !== '' && identityHash !== undefined && { identityHash }),
    ...rest,
  };
}

/** Claims are identified by group, resource and identity. If there are two notes, the last one counts. */
function noteAbout(claim: Fields, noted: readonly Fields[]): Fields | undefined {
  return noted.findLast((note) => ['group', 'resource', 'identityHash'].every((key) => (note[key] ?? '') === (claim[key] ?? '')));
}

function isUnlimited({ verbs, selector, defaultSelector }: Fields, { scoped }: ClaimList): boolean {
  const anyVerb = Array.isArray(verbs) && verbs.length === 1 && verbs[0] === '*';
  return anyVerb && defaultSelector === undefined && (!scoped || fieldsOf(selector)['matchAll'] === true);
}

function hasResourceSelector({ resourceSelector }: Fields): boolean {
  return Array.isArray(resourceSelector) && resourceSelector.length > 0;
}

/** The valid part of a noted selector; undefined if empty. v1alpha1 never limited claims, whatever its resource selector said. */
function limitedBy(noted: unknown): Fields | undefined {
  const { matchAll, matchLabels, matchExpressions } = fieldsOf(noted);
  const labels = isObject(matchLabels) && isTexts(Object.values(matchLabels)) ? { matchLabels } : {};
  const expressions = isItems(matchExpressions) && matchExpressions.every(isRequirement) ? { matchExpressions } : {};
  const limited = { ...labels, ...expressions };
  if (matchAll === true) return { ...limited, matchAll: true };
  return Object.keys(limited).length === 0 ? undefined : limited;
}

function isRequirement({ key, operator, values }: Fields): boolean {
  return typeof key === 'string' && typeof operator === 'string' && (values === undefined || isTexts(values));
}

function resourceSelectorIn(note: Fields | undefined): readonly Fields[] {
  const selector = note?.['resourceSelector'];
  return isItems(selector) && selector.every(({ name, namespace }) => isMaybeText(name) && isMaybeText(namespace)) ? selector : [];
}

const isMaybeText = (value: unknown): boolean => value === undefined || typeof value === 'string';

function isItems(value: unknown): value is Fields[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}
