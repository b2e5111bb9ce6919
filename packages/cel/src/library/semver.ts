import { spendText } from '@capstan/machinery';
import { BOOL, INT, objectOf, STRING } from '../types/type.ts';
import { type Int, intValue } from '../value/integer.ts';
import { CelError, OpaqueValue, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';

const SEMVER = objectOf('kubernetes.Semver');

/** A version such as `1.2.3-rc.1+build`. */
export class SemverValue extends OpaqueValue {
  readonly typeName = 'kubernetes.Semver';
  /** Major, minor and patch. */
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof SemverValue && compare(this, other) === 0;
  }
}

/** How often a text is read. */
const readings = 6;
/** Of a number of 64 bits. */
const MOST_DIGITS = 20;
const pattern =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

function parse(text: string): SemverValue | CelError {
  if (text === '') return new CelError('Version string empty');
  spendText(text.length * readings);
  const match = pattern.exec(text);
  if (match === null)
    return new CelError(text.split('.').length < 3 ? 'No Major.Minor.Patch elements found' : `Invalid version ${JSON.stringify(text)}`);
  const tooLong = match.slice(1, 4).find((number) => number.length > MOST_DIGITS);
  if (tooLong !== undefined) return new CelError(`strconv.ParseUint: parsing "${tooLong.slice(0, 64)}": value out of range`);
  const prerelease = match[4] === undefined ? [] : match[4].split('.');
  const padded = prerelease.find((part) => /^0\d+$/.test(part));
  if (padded !== undefined) return new CelError(`Numeric PreRelease version must not contain leading zeroes "${padded}"`);
  return new SemverValue(match.slice(1, 4).map(BigInt), prerelease);
}

/** Accepts a leading `v`, leading zeros, and missing minor and patch numbers. */
function normalize(text: string): string | CelError {
  const parts = splitInThree(text.startsWith('v') ? text.slice(1) : text).map(withoutZeros);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1)!)) return new CelError('short version cannot contain PreRelease/Build meta data');
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

function splitInThree(text: string): string[] {
  const parts = text.split('.');
  return parts.length <= 3 ? parts : [parts[0]!, parts[1]!, parts.slice(2).join('.')];
}

function withoutZeros(part: string): string {
  if (part.length <= 1) return part;
  const trimmed = part.replace(/^0+/, '');
  return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
}

function read(text: string, isLenient = false): SemverValue | CelError {
  const normalized = isLenient ? normalize(text) : text;
  return normalized instanceof CelError ? normalized : parse(normalized);
}

function compare(one: SemverValue, other: SemverValue): number {
  for (const [index, number] of one.numbers.entries()) {
    const against = other.numbers[index]!;
    if (number !== against) return number < against ? -1 : 1;
  }
  return comparePrereleases(one.prerelease, other.prerelease);
}

/** A version without a prerelease is later than all of its prereleases. */
function comparePrereleases(one: readonly string[], other: readonly string[]): number {
  if (one.length === 0 || other.length === 0) return Math.sign(Number(one.length === 0) - Number(other.length === 0));
  for (let index = 0; index < Math.min(one.length, other.length); index++) {
    const order = compareIdentifiers(one[index]!, other[index]!);
    if (order !== 0) return order;
  }
  return Math.sign(one.length - other.length);
}

/** Numbers are compared by value and come before all other identifiers. */
function compareIdentifiers(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  // Neither has leading zeros, so a longer number is the larger one.
  if (isNumber && one.length !== other.length) return Math.sign(one.length - other.length);
  return one < other ? -1 : one > other ? 1 : 0;
}

const part =
  (index: number) =>
  (version: SemverValue): Int =>
    intValue(version.numbers[index]!);

const isSemver = (text: string, isLenient = false): Value => read(text, isLenient) instanceof SemverValue;

export const semver: readonly FunctionEntry[] = [
  ['semver', [overload('string_to_semver', [STRING], SEMVER, read), overload('string_bool_to_semver', [STRING, BOOL], SEMVER, read)]],
  ['isSemver', [overload('is_semver_string', [STRING], BOOL, isSemver), overload('is_semver_string_bool', [STRING, BOOL], BOOL, isSemver)]],
  ['isLessThan', [member('semver_is_less_than', [SEMVER, SEMVER], BOOL, (a: SemverValue, b: SemverValue) => compare(a, b) < 0)]],
  ['isGreaterThan', [member('semver_is_greater_than', [SEMVER, SEMVER], BOOL, (a: SemverValue, b: SemverValue) => compare(a, b) > 0)]],
  ['compareTo', [member('semver_compare_to', [SEMVER, SEMVER], INT, compare)]],
  ['major', [member('semver_major', [SEMVER], INT, part(0))]],
  ['minor', [member('semver_minor', [SEMVER], INT, part(1))]],
  ['patch', [member('semver_patch', [SEMVER], INT, part(2))]],
];
