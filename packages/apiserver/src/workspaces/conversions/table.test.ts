import type { VersionConversion } from '@capstan/api';
import { compileSchema, type JsonObject, type KubeObject } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileConversions } from './compile.ts';
import { ConversionTable, RuleFailure } from './table.ts';

const text = { type: 'string' };
const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const schemas: Readonly<Record<string, JsonObject>> = {
  v1: object({ spec: object({ name: text, old: text, count: { type: 'integer' } }) }),
  v2: object({ spec: object({ name: object({ first: text, last: text }), total: { type: 'integer' }, fresh: text }) }),
};
const schemaOf = (version: string) => (Object.hasOwn(schemas, version) ? compileSchema(schemas[version]!).schema : undefined);

const first = { field: '.spec.name', destination: '.spec.name.first', transformation: "self.split(' ')[0]" };
const last = { field: '.spec.name', destination: '.spec.name.last', transformation: "self.split(' ')[1]" };
const whole = { field: '.spec.name', destination: '.spec.name', transformation: "self.first + ' ' + self.last" };
const up = { from: 'v1', to: 'v2', rules: [first, last, { field: 'spec.count', destination: 'spec.total' }], preserve: ['.spec.old'] };
const down = { from: 'v2', to: 'v1', rules: [whole, { field: 'spec.total', destination: 'spec.count' }], preserve: ['.spec.fresh'] };

function errorsOf(...conversions: VersionConversion[]): string[] {
  return compileConversions({ conversions }, schemaOf).errors.map(({ field, body }) => `${field}: ${body}`);
}

function tableOf(...conversions: VersionConversion[]): ConversionTable {
  const { versions, errors } = compileConversions({ conversions }, schemaOf);
  expect(errors).toEqual([]);
  return new ConversionTable(versions);
}

/** Like the server, prunes fields that the target version does not have. */
function convert(table: ConversionTable, spec: JsonObject, { from, to, annotations }: Going): KubeObject {
  const one = {
    apiVersion: `x/${from}`,
    kind: 'Thing',
    metadata: { ...(annotations && { annotations: { ...annotations } }) },
    spec: structuredClone(spec),
  };
  table.convert(one, from, to);
  compileSchema(schemas[to]!).prune(one as unknown as JsonObject);
  return one;
}

interface Going {
  readonly from: string;
  readonly to: string;
  readonly annotations?: Record<string, string> | undefined;
}

describe('rules of an APIConversion', () => {
  test('copy fields and compute fields from others', () => {
    const made = convert(tableOf(up, down), { name: 'Ada Lovelace', count: 3 }, { from: 'v1', to: 'v2' });
    expect(made['spec']).toEqual({ name: { first: 'Ada', last: 'Lovelace' }, total: 3 });
  });

  test('skip missing fields', () => {
    expect(convert(tableOf(up, down), {}, { from: 'v1', to: 'v2' })['spec']).toEqual({});
    expect(convert(tableOf(up, down), { name: { first: 'Ada', last: 'L' } }, { from: 'v2', to: 'v1' })['spec']).toEqual({ name: 'Ada L' });
  });

  test('preserve fields that the other version lacks, and restore them', () => {
    const table = tableOf(up, down);
    const made = convert(table, { old: 'x', name: 'A B' }, { from: 'v1', to: 'v2' });
    expect(made.metadata.annotations).toEqual({ 'preserve.conversion.apis.kcp.io/v1': '{"spec.old":"x"}' });
    const back = convert(table, made['spec'] as JsonObject, { from: 'v2', to: 'v1', annotations: made.metadata.annotations });
    expect(back.metadata.annotations).toBeUndefined();
    expect(back['spec']).toEqual({ old: 'x', name: 'A B' });
  });

  test('lose nothing on the way there and back, whichever version sets a field', () => {
    const table = tableOf(up, down);
    const word = fc.stringMatching(/^[a-z]{1,5}$/);
    const spec = fc.record(
      { name: fc.tuple(word, word).map((words) => words.join(' ')), old: fc.string(), count: fc.integer() },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(spec, fc.option(fc.string()), (before, fresh) => {
        const newer = convert(table, before as JsonObject, { from: 'v1', to: 'v2' });
        const changed = { ...(newer['spec'] as JsonObject), ...(fresh !== null && { fresh }) };
        const older = convert(table, changed, { from: 'v2', to: 'v1', annotations: newer.metadata.annotations });
        expect(older['spec']).toEqual(before);
        const again = convert(table, older['spec'] as JsonObject, { from: 'v1', to: 'v2', annotations: older.metadata.annotations });
        expect(again['spec']).toEqual(changed);
      }),
    );
  });

  test('restore only preserved fields from an annotation that users wrote', () => {
    const annotations = { 'preserve.conversion.apis.kcp.io/v1': '{"spec.old":"x","metadata.uid":"stolen","spec.name":"y"}' };
    const made = convert(tableOf(up, down), {}, { from: 'v2', to: 'v1', annotations });
    expect(made).toMatchObject({ metadata: {}, spec: { old: 'x' } });
    expect(made.metadata.uid).toBeUndefined();
    const garbage = { 'preserve.conversion.apis.kcp.io/v1': '[' };
    expect(convert(tableOf(up, down), {}, { from: 'v2', to: 'v1', annotations: garbage })['spec']).toEqual({});
  });

  test('report the field that they fail on', () => {
    const failing = (): unknown => convert(tableOf(up, down), { name: 'Plato' }, { from: 'v1', to: 'v2' });
    expect(failing).toThrow(RuleFailure);
    expect(failing).toThrow('index out of bounds: 1');
  });

  test('fail when they cost too much or produce too much', () => {
    const growing = (transformation: string) => tableOf({ ...up, rules: [{ ...first, transformation }] });
    const from = { from: 'v1', to: 'v2' };
    const loop = "self.split('').all(a, self.split('').all(b, self.split('').all(c, a + b + c != ''))) ? 'a' : 'b'";
    expect(() => convert(growing(loop), { name: 'x'.repeat(1_000) }, from)).toThrow('may cost 100000 at most');
    expect(() => convert(growing("self.split('').map(a, self).join('')"), { name: 'x'.repeat(600) }, from)).toThrow(
      'may grow by 262144 characters at most',
    );
  });

  test('can set a field of any name', () => {
    const named = compileConversions(
      { conversions: [{ from: 'v1', to: 'v2', rules: [{ field: 'a', destination: '__proto__.x' }] }] },
      () => compileSchema(object({ a: text, other: object({}) })).schema,
    );
    const made = { apiVersion: 'x/v1', kind: 'T', metadata: {}, a: 'b' } as KubeObject;
    new ConversionTable(named.versions).convert(made, 'v1', 'v2');
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
    expect(Object.hasOwn(made, '__proto__')).toBe(true);
  });
});

describe('compilation rejects', () => {
  test.each([
    [
      'unknown source versions',
      { ...up, from: 'v7' },
      'spec.conversions[0].from: Invalid value: "v7": unable to find structural schema for version',
    ],
    [
      'unknown target versions',
      { ...up, to: 'v7' },
      'spec.conversions[0].to: Invalid value: "v7": unable to find structural schema for version',
    ],
    [
      'unknown fields',
      { ...up, rules: [{ ...first, field: '.spec.nam' }] },
      'spec.conversions[0].rules[0].field: Invalid value: ".spec.nam": field "spec.nam" doesn\'t exist',
    ],
    [
      'fields inside a scalar',
      { ...up, rules: [{ ...first, field: 'spec.name.x' }] },
      'spec.conversions[0].rules[0].field: Invalid value: "spec.name.x": expected field "spec.name" to be an object',
    ],
    [
      'unknown destinations',
      { ...up, rules: [{ ...first, destination: 'spec.x' }] },
      'spec.conversions[0].rules[0].destination: Invalid value: "spec.x": field "spec.x" doesn\'t exist',
    ],
    [
      'destinations in metadata',
      { ...up, rules: [{ ...first, destination: 'metadata.uid' }] },
      'spec.conversions[0].rules[0].destination: Invalid value: "metadata.uid": only fields outside of metadata can be converted',
    ],
    [
      'unknown fields to preserve',
      { ...up, preserve: ['.spec.x'] },
      'spec.conversions[0].preserve[0]: Invalid value: ".spec.x": field "spec.x" doesn\'t exist',
    ],
  ])('%s', (_, conversion, expected) => {
    expect(errorsOf(conversion)).toEqual([expected]);
  });

  test('expressions that do not compile', () => {
    expect(errorsOf({ ...up, rules: [{ ...first, transformation: 'self.first' }] })).toEqual([
      expect.stringMatching(
        /^spec\.conversions\[0\]\.rules\[0\]\.transformation: Invalid value: "self\.first": error compiling CEL program: /,
      ),
    ]);
  });
});
