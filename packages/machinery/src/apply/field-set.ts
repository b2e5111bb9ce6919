import { endsPart, type Parts, sortInParts, whole } from '../work/parts.ts';
import { compareReadElements, fieldElement, type PathElement, printPathElement, type ReadElement, readElement } from './path-element.ts';

/**
 * A set of field paths in the wire form of FieldsV1: a tree whose keys are path elements. A node `{}` is in the set; a node with children
 * is in the set if it also has the key `.`. Stored sets therefore need no conversion. Sets are immutable and share their parts.
 */
export interface FieldSet {
  readonly [element: PathElement]: FieldSet;
}

type Building = { [element: PathElement]: FieldSet };

/** As a node: in the set, with nothing below it. As a root: the empty set. */
export const emptySet: FieldSet = Object.freeze({});
const self = '.';

export type FieldPath = readonly PathElement[];

export function isEmpty(set: FieldSet): boolean {
  // To begin a loop over a large object takes long.
  if (self in set) return false;
  for (const _ in set) return false;
  return true;
}

/** Whether the node itself is in its set. */
export const isMember = (node: FieldSet): boolean => self in node || isEmpty(node);

/** The node, with itself in the set. */
export function withSelf(node: FieldSet): FieldSet {
  return isMember(node) ? node : { [self]: emptySet, ...node };
}

/** The same in parts, for a node that may have many children. */
export function* withSelfInParts(node: FieldSet): Parts<FieldSet> {
  if (self in node) return node;
  let result: Building | undefined;
  for (const element in node) {
    if (endsPart()) yield;
    (result ??= { [self]: emptySet })[element] = node[element]!;
  }
  return result ?? node;
}

export function setOf(paths: Iterable<FieldPath>): FieldSet {
  let set: FieldSet = emptySet;
  for (const path of paths) if (path.length > 0) set = union(set, pathSet(path));
  return set;
}

export const fieldPath = (...names: string[]): FieldPath => names.map(fieldElement);

function pathSet(path: FieldPath): FieldSet {
  let node: FieldSet = emptySet;
  for (let index = path.length - 1; index >= 0; index--) node = { [path[index]!]: node };
  return node;
}

/** Sorts the elements of one level in Kubernetes' order. Returns the same node if they are already sorted. */
export function sorted(node: FieldSet): FieldSet {
  return whole(sortedInParts(node));
}

export function* sortedInParts(node: FieldSet): Parts<FieldSet> {
  const elements = Object.keys(node);
  const start = elements[0] === self ? 1 : 0;
  if (elements.length <= start + 1) return node;
  let before: ReadElement | undefined;
  for (let index = start; index < elements.length; index++) {
    if (elements[index] === self) return yield* rebuilt(node, elements);
    const read = readElement(elements[index]!);
    if (before !== undefined && compareReadElements(before, read) > 0) return yield* rebuilt(node, elements);
    before = read;
    if (endsPart()) yield;
  }
  return node;
}

function* rebuilt(node: FieldSet, elements: PathElement[]): Parts<FieldSet> {
  const result: Building = {};
  if (self in node) result[self] = emptySet;
  const read: ReadElement[] = [];
  for (const element of elements) {
    if (element !== self) read.push(readElement(element));
    if (endsPart()) yield;
  }
  for (const { element } of yield* sortInParts(read, compareReadElements)) {
    result[element] = node[element]!;
    if (endsPart()) yield;
  }
  return result;
}

export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmpty(left)) return right;
  if (isEmpty(right)) return left;
  return whole(unionNodes(left, right));
}

export function* unionInParts(left: FieldSet, right: FieldSet): Parts<FieldSet> {
  if (isEmpty(left)) return right;
  if (isEmpty(right)) return left;
  return yield* unionNodes(left, right);
}

function* unionNodes(left: FieldSet, right: FieldSet): Parts<FieldSet> {
  if (left === right) return left;
  const member = self in left || self in right;
  const result: Building = {};
  if (member) result[self] = emptySet;
  for (const element in left) {
    if (endsPart()) yield;
    if (element === self) continue;
    const node = left[element]!;
    const other = right[element];
    if (other === undefined) result[element] = node;
    else if (isEmpty(node)) result[element] = yield* withSelfInParts(other);
    else {
      // Looking into a large node takes long, even if only to see that it is not empty.
      yield;
      const isAlone = isEmpty(other);
      if (!(self in other)) yield;
      result[element] = yield* isAlone ? withSelfInParts(node) : unionNodes(node, other);
      yield;
    }
  }
  for (const element in right) {
    if (endsPart()) yield;
    if (element !== self && !(element in left)) result[element] = right[element]!;
  }
  return yield* sortedInParts(result);
}

/**
 * The paths in `left` that are not in `right`. A parent in `right` does not remove children from `left`. Returns `left` itself if nothing
 * is removed.
 */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return isEmpty(left) || isEmpty(right) ? left : (whole(subtract(left, right, false)) ?? emptySet);
}

export function* differenceInParts(left: FieldSet, right: FieldSet): Parts<FieldSet> {
  return isEmpty(left) || isEmpty(right) ? left : ((yield* subtract(left, right, false)) ?? emptySet);
}

/** Like difference, but a path in `right` removes everything below it. */
export function recursiveDifference(left: FieldSet, right: FieldSet): FieldSet {
  return isEmpty(left) || isEmpty(right) ? left : (whole(subtract(left, right, true)) ?? emptySet);
}

/** `left` is not empty. */
function* subtract(left: FieldSet, right: FieldSet, recursive: boolean): Parts<FieldSet | undefined> {
  let result: Building | undefined;
  let count = 0;
  const elements = Object.keys(left);
  for (let index = 0; index < elements.length; index++) {
    if (endsPart()) yield;
    const element = elements[index]!;
    const node = left[element]!;
    let kept: FieldSet | undefined = node;
    if (element === self) {
      if (!(self in right)) yield;
      if (isMember(right)) kept = undefined;
    } else {
      const other = right[element];
      if (other === undefined) kept = node;
      else if (recursive && isMember(other)) kept = undefined;
      else if (!isEmpty(node)) {
        yield;
        kept = yield* subtract(node, other, recursive);
        yield;
      } else if (isMember(other)) kept = undefined;
    }
    if (kept !== node && result === undefined) {
      result = {};
      for (let earlier = 0; earlier < index; earlier++) {
        if (endsPart()) yield;
        result[elements[earlier]!] = left[elements[earlier]!]!;
      }
    }
    if (kept === undefined) continue;
    count++;
    if (result !== undefined) result[element] = kept;
  }
  if (result === undefined) return left;
  if (count === 0) return undefined;
  return count === 1 && self in result ? emptySet : result;
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return isEmpty(left) || isEmpty(right) ? emptySet : (common(left, right) ?? emptySet);
}

function common(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const result: Building = {};
  let count = 0;
  for (const element in left) {
    if (element === self) continue;
    const other = right[element];
    if (other === undefined) continue;
    const node = left[element]!;
    const member = isMember(node) && isMember(other);
    const below = common(node, other);
    if (below === undefined && !member) continue;
    count++;
    result[element] = below === undefined ? emptySet : member ? withSelf(below) : below;
  }
  return count === 0 ? undefined : result;
}

export function has(set: FieldSet, path: FieldPath): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) {
    node = node[element];
    if (node === undefined) return false;
  }
  return path.length > 0 && isMember(node);
}

/** The node at an element, if it has anything below it. */
export function below(set: FieldSet, element: PathElement): FieldSet | undefined {
  const node = set[element];
  return node === undefined || isEmpty(node) ? undefined : node;
}

/** Only the paths with nothing below them. */
export function leaves(set: FieldSet): FieldSet {
  if (isEmpty(set)) return set;
  const result: Building = {};
  for (const element in set) if (element !== self) result[element] = leaves(set[element]!);
  return result;
}

export function equal(left: FieldSet, right: FieldSet): boolean {
  if (left === right) return true;
  let count = 0;
  for (const element in left) {
    const other = right[element];
    if (other === undefined || !equal(left[element]!, other)) return false;
    count++;
  }
  for (const _ in right) count--;
  return count === 0;
}

/** Every path in the set: at each level the members first, then those below, as Kubernetes lists conflicts. */
export function* paths(unordered: FieldSet, prefix: FieldPath = []): Generator<FieldPath> {
  const set = sorted(unordered);
  for (const element in set) if (element !== self && isMember(set[element]!)) yield [...prefix, element];
  for (const element in set) if (element !== self) yield* paths(set[element]!, [...prefix, element]);
}

export const printPath = (path: FieldPath): string => path.map(printPathElement).join('');
