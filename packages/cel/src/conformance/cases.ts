import type { Declaration } from '../types/declaration.ts';
import * as declare from '../types/declare.ts';
import * as types from '../types/type.ts';
import { ArrayList, EntryMap } from '../value/collections.ts';
import { intValue } from '../value/integer.ts';
import { Double, TypeValue, Uint, type Value } from '../value/value.ts';

/** A value in cel-spec's JSON notation: one of these. */
interface WrittenValue {
  nullValue?: unknown;
  boolValue?: boolean;
  int64Value?: string;
  uint64Value?: string;
  doubleValue?: number | string;
  stringValue?: string;
  bytesValue?: string;
  typeValue?: string;
  listValue?: { values?: WrittenValue[] };
  mapValue?: { entries?: { key: WrittenValue; value: WrittenValue }[] };
  objectValue?: unknown;
  enumValue?: unknown;
}

interface WrittenType {
  primitive?: string;
  wellKnown?: string;
  dyn?: unknown;
  listType?: { elemType: WrittenType };
  mapType?: { keyType: WrittenType; valueType: WrittenType };
}

interface WrittenTest {
  name: string;
  expr: string;
  value?: WrittenValue;
  typedResult?: { result?: WrittenValue };
  evalError?: unknown;
  typeEnv?: { name: string; ident?: { type: WrittenType } }[];
  bindings?: Record<string, { value: WrittenValue }>;
  container?: string;
  disableCheck?: boolean;
  checkOnly?: boolean;
}

export interface Case {
  readonly name: string;
  readonly source: string;
  readonly variables: ReadonlyMap<string, Declaration>;
  readonly bindings: Readonly<Record<string, Value>>;
  /** Undefined if the evaluation must fail. */
  readonly expected: Value | undefined;
}

/** A folder of tests in cel-spec's format. */
export interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: unknown; readonly checkedAst?: string }[];
}

/** Suites for features that Kubernetes' environment lacks. */
const absent = new Set([
  'bindings_ext', // cel.bind
  'block_ext', // cel.block
  'encoders_ext', // base64
  'enums', // protocol buffers, like the next four
  'proto2',
  'proto2_ext',
  'proto3',
  'wrappers',
  'math_ext', // math.greatest and related functions
  'namespace', // containers
]);

/**
 * Tests with a different result in Kubernetes' environment: its string functions are an earlier version, and the last of equal keys wins.
 */
const different = new RegExp(
  [
    '^fields/qualified_identifier_resolution/map_value_repeat',
    '^string_ext/value_errors/(?:last)?indexof_out_of_range',
    '^string_ext/format/.*(?:NaN|infinity) support',
    '^string_ext/format/(?:scientific notation|default precision for scientific)',
  ].join('|'),
);

/** Kubernetes requires all elements of a list or map literal to have one type. */
const mixedLiteral = /[\]}]~(?:list|map)\([^\n]*dyn/;
const mixedName = /^macros2\/.*_elem_type_|^macros2\/.*map_key_type|^optionals\/.*(?:map_key_mixed|optional_chaining_13$)/;

/** Parts of expressions that need protocol buffers or functions of later versions. */
const unavailable = /TestAllTypes|google\.protobuf\.|NullValue|\.reverse\(\)|cel\.bind|`/;

/** The tests that apply to Kubernetes' environment. */
export function readCases(root: Suite): Case[] {
  const cases: Case[] = [];
  for (const suite of root.suites ?? []) {
    if (!absent.has(suite.name)) collect(suite, suite.name, cases);
  }
  return cases;
}

function collect(suite: Suite, path: string, into: Case[]): void {
  for (const inner of suite.suites ?? []) collect(inner, `${path}/${inner.name}`, into);
  for (const { original, checkedAst } of suite.tests ?? []) {
    if (checkedAst !== undefined && mixedLiteral.test(checkedAst)) continue;
    const read = readCase(original as WrittenTest, path);
    if (read !== undefined) into.push(read);
  }
}

function readCase(test: WrittenTest, path: string): Case | undefined {
  const name = `${path}/${test.name}`;
  if (different.test(name) || mixedName.test(name) || test.disableCheck === true || test.checkOnly === true) return undefined;
  if (test.container !== undefined || unavailable.test(test.expr)) return undefined;
  const written = test.value ?? test.typedResult?.result ?? (test.evalError === undefined ? { boolValue: true } : undefined);
  const expected = written === undefined ? undefined : readValue(written);
  if (written !== undefined && expected === undefined) return undefined;
  const variables = new Map<string, Declaration>();
  for (const declared of test.typeEnv ?? []) {
    if (declared.ident !== undefined) variables.set(declared.name, declare.opaque(readType(declared.ident.type)));
  }
  if (Object.values(test.bindings ?? {}).some(({ value }) => readValue(value) === undefined)) return undefined;
  const bindings = Object.fromEntries(Object.entries(test.bindings ?? {}).map(([key, { value }]) => [key, readValue(value) ?? null]));
  return { name, source: test.expr, variables, bindings, expected };
}

const primitives = new Map<string, types.Type>([
  ['BOOL', types.BOOL],
  ['INT64', types.INT],
  ['UINT64', types.UINT],
  ['DOUBLE', types.DOUBLE],
  ['STRING', types.STRING],
  ['BYTES', types.BYTES],
]);

function readType(written: WrittenType): types.Type {
  if (written.listType !== undefined) return types.listOf(readType(written.listType.elemType));
  if (written.mapType !== undefined) return types.mapOf(readType(written.mapType.keyType), readType(written.mapType.valueType));
  return primitives.get(written.primitive ?? '') ?? types.DYN;
}

/** Undefined for messages and enumerations. */
function readValue(written: WrittenValue): Value | undefined {
  if (written.boolValue !== undefined) return written.boolValue;
  if (written.int64Value !== undefined) return intValue(BigInt(written.int64Value));
  if (written.uint64Value !== undefined) return new Uint(BigInt(written.uint64Value));
  if (written.doubleValue !== undefined) return new Double(Number(written.doubleValue));
  if (written.stringValue !== undefined) return written.stringValue;
  if (written.bytesValue !== undefined) return Uint8Array.from(Buffer.from(written.bytesValue, 'base64'));
  if (written.typeValue !== undefined) return new TypeValue(written.typeValue);
  if (written.listValue !== undefined) return readList(written.listValue.values ?? []);
  if (written.mapValue !== undefined) return readMap(written.mapValue.entries ?? []);
  return 'nullValue' in written ? null : undefined;
}

function readList(written: readonly WrittenValue[]): Value | undefined {
  const values = written.map(readValue);
  return values.includes(undefined) ? undefined : new ArrayList(values as Value[]);
}

function readMap(written: readonly { key: WrittenValue; value: WrittenValue }[]): Value | undefined {
  const entries = written.map(({ key, value }) => [readValue(key), readValue(value)]);
  return entries.flat().includes(undefined) ? undefined : new EntryMap(entries as [Value, Value][]);
}
