import { sameType, type Type } from '../types/type.ts';
import type { Value } from '../value/value.ts';
import { AUTHORIZATION, LIST_COST, PATTERN, STRUCT_COST, TRAVERSAL } from './constants.ts';
import { add, exactly, multiply, type Range, scale, sum, UNLIMITED, union, unknownSize } from './range.ts';

/** An argument of a call, as far as the estimate knows it. */
export interface Operand {
  readonly type: Type;
  readonly size: Range | undefined;
  /** The possible sizes of a list's elements. */
  readonly elementSize: () => Range;
  readonly literal: Value | undefined;
}

export interface CallParts {
  readonly name: string;
  readonly overload: string;
  readonly target: Operand | undefined;
  readonly args: readonly Operand[];
  readonly argumentCosts: readonly Range[];
}

export interface CallEstimate {
  readonly cost: Range;
  /** The possible sizes of the result, if the call determines them. */
  readonly size?: Range;
}

type Estimate = (call: CallParts) => CallEstimate | undefined;

/** The cost of a call, including the evaluation of its arguments. */
export function estimateCall(call: CallParts): CallEstimate {
  const choice = choices.get(call.overload);
  if (choice !== undefined) return choice(call)!;
  const estimate = byOverload.get(call.overload)?.(call) ?? byName.get(call.name)?.(call) ?? standard.get(call.overload)?.(call);
  const args = sum(call.argumentCosts);
  if (estimate === undefined) return { cost: add(exactly(1), args) };
  return { ...estimate, cost: add(estimate.cost, args) };
}

function sizeOf(operand: Operand | undefined): Range {
  return operand?.size ?? unknownSize;
}

/** The receiver of a method, or the first argument of a function. */
function subject({ target, args }: CallParts): Operand {
  return (target ?? args[0])!;
}

const constant =
  (cost: number): Estimate =>
  () => ({ cost: exactly(cost) });

/** Traverses a string `factor` times; with `keeps`, the result has the same size. */
const throughText =
  (factor: number, keeps = false): Estimate =>
  (call) => {
    const size = sizeOf(subject(call));
    const cost = scale(size, factor * TRAVERSAL);
    return keeps ? { cost, size } : { cost };
  };

const wholeList: Estimate = (call) => {
  if (call.target === undefined) return undefined;
  const size = sizeOf(call.target);
  if (call.target.type.kind !== 'list') return { cost: scale(size, TRAVERSAL) };
  const kind = call.target.type.element.kind;
  const isText = kind === 'string' || kind === 'bytes';
  const element = isText ? add(exactly(1), scale(call.target.elementSize(), TRAVERSAL)) : exactly(1);
  return { cost: multiply(size, element) };
};

const pattern: Estimate = (call) => {
  const [text, regex] = call.target === undefined ? [call.args[0], call.args[1]] : [call.target, call.args[0]];
  const size = sizeOf(text);
  const cost = multiply(scale(add(size, exactly(1)), TRAVERSAL), scale(sizeOf(regex), PATTERN));
  return { cost, size: { min: 0, max: size.max } };
};

const matchPattern: Estimate = (call) => ({ cost: pattern(call)!.cost });

const replace: Estimate = ({ target, args }) => {
  const size = sizeOf(target);
  const from = sizeOf(args[0]);
  const to = sizeOf(args[1]);
  const most = longestReplacement(size, from, to);
  const least = shortestReplacement(size, from, to);
  const result: Range = {
    min: least.count * to.min + least.kept,
    max: Math.min(UNLIMITED, most.count * to.max + most.kept),
  };
  return { cost: scale(size, 2 * TRAVERSAL), size: result };
};

interface Replacement {
  readonly count: number;
  readonly kept: number;
}

/** An empty string is replaced around each character; otherwise the shortest parts are replaced with the longest strings. */
function longestReplacement(size: Range, from: Range, to: Range): Replacement {
  if (from.min === 0) return { count: Math.min(UNLIMITED, size.max + 1), kept: size.max };
  if (to.max <= from.min) return { count: 0, kept: size.max };
  return { count: Math.ceil(size.max / from.min), kept: 0 };
}

function shortestReplacement(size: Range, from: Range, to: Range): Replacement {
  if (from.max === 0) return { count: size.min + 1, kept: size.min };
  if (from.max <= to.min) return { count: 0, kept: size.min };
  return { count: Math.ceil(size.min / from.max), kept: 0 };
}

const split: Estimate = ({ target, args }) => {
  const size = sizeOf(target);
  const limit = args[1]?.literal;
  const max = typeof limit === 'number' ? (limit < 0 ? UNLIMITED : limit) : size.max;
  return { cost: scale(size, 2 * TRAVERSAL), size: { min: 0, max } };
};

const join: Estimate = ({ target, args }) => {
  const count = sizeOf(target);
  let size = multiply(count, target!.elementSize());
  if (args[0] !== undefined) {
    const separators: Range = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
    size = add(size, multiply(sizeOf(args[0]), separators));
  }
  return { cost: scale(size, TRAVERSAL), size };
};

const selector: Estimate = ({ args }) => {
  const size = sizeOf(args[0]);
  const requirements = scale(scale(size, 0.5), LIST_COST + STRUCT_COST);
  return { cost: add(add(exactly(LIST_COST), scale(size, TRAVERSAL)), requirements) };
};

/** The bytes of an address: 4 or 16. */
const address: Range = { min: 4, max: 16 };

const containment =
  (kind: 'ip' | 'cidr'): Estimate =>
  ({ overload, args }) => {
    let cost = scale(add(address, address), TRAVERSAL);
    if (kind === 'cidr') cost = add(add(cost, scale(address, TRAVERSAL)), exactly(1));
    if (overload.endsWith('_string')) cost = add(cost, scale(sizeOf(args[0]), TRAVERSAL));
    return { cost };
  };

/** The longest pattern among the named formats. */
const LONGEST_FORMAT = 128;
const validate: Estimate = ({ args }) => ({ cost: scale(scale(sizeOf(args[0]), TRAVERSAL), LONGEST_FORMAT * PATTERN) });

const opaqueNames = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
]);

const equality: Estimate = ({ args }) => {
  const { type } = args[0]!;
  if (!sameType(type, args[1]!.type) || !('name' in type)) return undefined;
  if (opaqueNames.has(type.name)) return { cost: exactly(1) };
  if (type.name === 'kubernetes.NamedFormat') return { cost: scale({ min: 1, max: 64 }, TRAVERSAL) };
  if (type.name === 'kubernetes.URL') return { cost: scale({ min: 1, max: args[1]!.size?.max ?? 1 }, TRAVERSAL) };
  return undefined;
};

/** Creates a list, which adds the cost of the call and the list. */
function newList(factor: number, size: Range): CallEstimate {
  return { cost: add(scale(size, factor), exactly(1 + LIST_COST)), size };
}

function literalOr(operand: Operand | undefined, fallback: number): number {
  return typeof operand?.literal === 'number' ? Math.max(0, operand.literal) : fallback;
}

const slice: Estimate = ({ target, args }) => {
  const end = literalOr(args[1], sizeOf(target).max);
  const length = end - literalOr(args[0], 0);
  // Unsigned arithmetic wraps around if the start is beyond the end.
  return newList(1, exactly(length < 0 ? UNLIMITED : length));
};

const flatten: Estimate = ({ target, args }) => newList(args.length === 0 ? 1 : literalOr(args[0], UNLIMITED), sizeOf(target));

const sorting =
  (isText: boolean, operand: (call: CallParts) => Operand | undefined): Estimate =>
  (call) => {
    const size = sizeOf(operand(call));
    return newList(isText ? 2 + TRAVERSAL : 2, multiply(size, size));
  };

const sets =
  (factor: number): Estimate =>
  ({ args }) => ({ cost: add(scale(multiply(sizeOf(args[0]), sizeOf(args[1])), factor), exactly(1)) });

const byName = new Map<string, Estimate>([
  ['check', constant(AUTHORIZATION)],
  ['fieldSelector', selector],
  ['labelSelector', selector],
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'].map((name) => [name, wholeList] as const),
  ...['url', 'jsonpatch.escapeKey', 'lowerAscii', 'upperAscii', 'substring', 'trim'].map((name) => [name, throughText(1, true)] as const),
  ['replace', replace],
  ['split', split],
  ['join', join],
  ['find', pattern],
  ['findAll', pattern],
  ...['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'].map((name) => [name, throughText(1)] as const),
  ['ip', (call) => (call.overload === 'cidr_ip' ? { cost: exactly(1) } : throughText(1)(call))],
  ['ip.isCanonical', throughText(2)],
  ['containsIP', containment('ip')],
  ['containsCIDR', containment('cidr')],
  ['validate', validate],
  ['_==_', equality],
]);

const textTypes = ['string', 'bytes'];
const comparableTypes = ['int', 'uint', 'double', 'bool', 'google.protobuf.Duration', 'google.protobuf.Timestamp', ...textTypes];

const byOverload = new Map<string, Estimate>([
  ['list_slice', slice],
  ['list_flatten', flatten],
  ['list_flatten_int', flatten],
  ['lists_range', ({ args }) => newList(1, exactly(literalOr(args[0], UNLIMITED)))],
  ['list_reverse', ({ target }) => newList(1, sizeOf(target))],
  ['list_distinct', sorting(false, ({ target }) => target)],
  ...comparableTypes.map((name) => [`list_${name}_sort`, sorting(textTypes.includes(name), ({ target }) => target)] as const),
  ...comparableTypes.map(
    (name) => [`list_${name}_sortByAssociatedKeys`, sorting(textTypes.includes(name), ({ args }) => args[0])] as const,
  ),
  ['list_sets_contains_list', sets(1)],
  ['list_sets_intersects_list', sets(1)],
  ['list_sets_equivalent_list', sets(2)],
]);

const comparison: Estimate = ({ args }) => {
  const max = Math.min(sizeOf(args[0]).max, sizeOf(args[1]).max);
  return { cost: scale({ min: max > 0 ? 1 : 0, max }, TRAVERSAL) };
};

const concatenation: Estimate = ({ overload, args }) => {
  const size = add(sizeOf(args[0]), sizeOf(args[1]));
  return { cost: overload === 'add_list' ? exactly(1) : scale(size, TRAVERSAL), size };
};

const compared = ['less', 'less_equals', 'greater', 'greater_equals'].flatMap((name) => [`${name}_string`, `${name}_bytes`]);

/** cel-go's own estimates, for functions that Kubernetes does not estimate. */
const standard = new Map<string, Estimate>([
  ['string_format', ({ target }) => ({ cost: scale(sizeOf(target), TRAVERSAL) })],
  ['string_to_bytes', (call) => conversion(call, (size) => ({ min: size.min, max: Math.min(UNLIMITED, size.max * 4) }))],
  ['bytes_to_string', (call) => conversion(call, (size) => ({ min: Math.trunc(size.min / 4), max: size.max }))],
  // In 64 bits, twice the unknown size plus two wraps around to zero.
  ['strings_quote', (call) => conversion(call, (size) => ({ min: size.min + 2, max: size.max === UNLIMITED ? 0 : size.max * 2 + 2 }))],
  ['starts_with_string', ({ args }) => ({ cost: scale(sizeOf(args[0]), TRAVERSAL) })],
  ['ends_with_string', ({ args }) => ({ cost: scale(sizeOf(args[0]), TRAVERSAL) })],
  ['in_list', ({ args }) => ({ cost: sizeOf(args[1]) })],
  ['matches_string', matchPattern],
  ['contains_string', ({ target, args }) => ({ cost: multiply(scale(sizeOf(target), TRAVERSAL), scale(sizeOf(args[0]), TRAVERSAL)) })],
  ...['add_string', 'add_bytes', 'add_list'].map((id) => [id, concatenation] as const),
  ...[...compared, 'equals', 'not_equals'].map((id) => [id, comparison] as const),
]);

function conversion({ args }: CallParts, result: (size: Range) => Range): CallEstimate {
  const size = sizeOf(args[0]);
  return { cost: scale(size, TRAVERSAL), size: result(size) };
}

const logic: Estimate = ({ argumentCosts }) => ({ cost: { min: argumentCosts[0]!.min, max: sum(argumentCosts).max } });

/** Operators that evaluate only some of their arguments. */
const choices = new Map<string, Estimate>([
  ['logical_and', logic],
  ['logical_or', logic],
  [
    'conditional',
    ({ argumentCosts: [condition, whenTrue, whenFalse], args }) => ({
      cost: add(condition!, union(whenTrue!, whenFalse!)),
      size: union(sizeOf(args[1]), sizeOf(args[2])),
    }),
  ],
]);
