import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import { compileSchema } from './compiled.ts';

const of = (field: JsonObject): JsonObject => ({ type: 'object', properties: { x: field } });

function errorsOf(field: JsonObject, value: Json): string[] {
  return compileSchema(of(field))
    .validate({ x: value })
    .map(({ field: at, body }) => `${at}: ${body}`);
}

const invalid = (shown: string, why: string): string => `x: Invalid value: ${shown}: x in body ${why}`;
const two = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } };

describe('a value of a custom resource', () => {
  it.each<[JsonObject, Json, string[]]>([
    [{ type: 'string' }, 'a', []],
    [{ type: 'string' }, 1, [invalid('"integer"', 'must be of type string: "integer"')]],
    [{ type: 'integer' }, 1.5, [invalid('"number"', 'must be of type integer: "number"')]],
    [{ type: 'integer' }, 2 ** 64, [invalid('"number"', 'must be of type integer: "number"')]],
    [{ type: 'number' }, 1, []],
    [{ type: 'boolean' }, 'true', [invalid('"string"', 'must be of type boolean: "string"')]],
    [{ type: 'object' }, [], [invalid('"array"', 'must be of type object: "array"')]],
    [{ type: 'string' }, null, [invalid('"null"', 'must be of type string: "null"')]],
    [{ type: 'string', nullable: true }, null, []],
    [{ 'x-kubernetes-int-or-string': true }, true, [invalid('"boolean"', 'must be of type integer,string: "boolean"')]],
    [{ type: 'string', minLength: 2 }, 'a', [invalid('"a"', 'should be at least 2 chars long')]],
    [{ type: 'string', minLength: 2 }, '😀', [invalid('"😀"', 'should be at least 2 chars long')]],
    [{ type: 'string', maxLength: 2 }, '😀😀', []],
    [{ type: 'string', maxLength: 2 }, 'abc', ['x: Too long: may not be more than 2 bytes']],
    [{ type: 'string', pattern: '^a+$' }, 'b', [invalid('"b"', "should match '^a+$'")]],
    [{ type: 'integer', minimum: 2 }, 1, [invalid('1', 'should be greater than or equal to 2')]],
    [{ type: 'integer', minimum: 2, exclusiveMinimum: true }, 2, [invalid('2', 'should be greater than 2')]],
    [{ type: 'number', maximum: 0.5 }, 1, [invalid('1', 'should be less than or equal to 0')]],
    [{ type: 'number', maximum: 0.00001 }, 0.5, [invalid('0.5', 'should be less than or equal to 1e-05')]],
    [{ type: 'integer', multipleOf: 3 }, 7, [invalid('7', 'should be a multiple of 3')]],
    [{ type: 'number', multipleOf: 0.1 }, 0.3, []],
    [{ type: 'string', enum: ['a', 'b'] }, 'c', ['x: Unsupported value: "c": supported values: "a", "b"']],
    [{ type: 'integer', enum: [1, 2] }, 3, ['x: Unsupported value: 3: supported values: "1", "2"']],
    [{ type: 'array', items: { type: 'string' }, minItems: 1 }, [], [invalid('0', 'should have at least 1 items')]],
    [{ type: 'array', items: { type: 'string' }, maxItems: 1 }, ['a', 'b'], ['x: Too many: 2: must have at most 1 item']],
    [
      { type: 'array', items: { type: 'string' } },
      ['a', 1],
      ['x[1]: Invalid value: "integer": x[1] in body must be of type string: "integer"'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'string' } },
      { k: 1 },
      ['x.k: Invalid value: "integer": x.k in body must be of type string: "integer"'],
    ],
    [{ type: 'object', minProperties: 1 }, {}, [invalid('0', 'should have at least 1 properties')]],
    [{ ...two, required: ['a'] }, { b: '' }, ['x.a: Required value']],
    [
      { ...two, anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      {},
      ['<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)', 'x.a: Required value'],
    ],
    [
      { ...two, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
      { a: '', b: '' },
      ['<nil>: Invalid value: "": "x" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
    ],
    [
      { type: 'integer', allOf: [{ minimum: 3 }, { maximum: 9 }] },
      1,
      [invalid('1', 'should be greater than or equal to 3'), '<nil>: Invalid value: "": "x" must validate all the schemas (allOf)'],
    ],
    [{ type: 'string', not: { enum: ['a'] } }, 'a', ['<nil>: Invalid value: "": "x" must not validate the schema (not)']],
    [{ type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } }, ['a', 'a', 'a'], ['x[1]: Duplicate value: "a"']],
    [
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' } } },
      },
      [{ k: 'a' }, { k: 'a' }],
      ['x[1]: Duplicate value: {"k":"a"}'],
    ],
    [
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      {},
      ['x.apiVersion: Required value', 'x.kind: Required value'],
    ],
  ])('%j given %j', (field, value, errors) => {
    expect(errorsOf(field, value)).toEqual(errors);
  });

  it.each([
    ['date-time', '2020-02-29T10:00:00Z', '2021-02-29T10:00:00Z'],
    ['date', '2020-02-29', '2020-13-01'],
    ['ipv4', '10.0.0.1', '10.0.0'],
    ['ipv6', '::1', ':::'],
    ['cidr', '10.0.0.0/8', '10.0.0.0/33'],
    ['email', 'a@example.com', 'a@@b'],
    ['hostname', 'a.example', '-a'],
    ['uuid', '00000000-0000-0000-0000-000000000000', '0-0'],
    ['byte', 'aGk=', 'a?'],
    ['duration', '1h30m', '1 fortnight'],
    ['uri', 'https://example.com/a', 'no uri'],
    ['mac', '00:00:5e:00:53:01', '00:00'],
    ['isbn10', '0321751043', '0321751044'],
    ['creditcard', '4111 1111 1111 1111', '4111 1111 1111 1112'],
    ['rgbcolor', 'rgb(1,2,3)', 'rgb(1,2,300)'],
  ])('of the format %s may be %j and not %j', (format, good, bad) => {
    expect(errorsOf({ type: 'string', format }, good)).toEqual([]);
    expect(errorsOf({ type: 'string', format }, bad)).toEqual([
      invalid(JSON.stringify(bad), `must be of type ${format}: ${JSON.stringify(bad)}`),
    ]);
  });

  it('of an unknown format may be anything', () => {
    expect(errorsOf({ type: 'string', format: 'colour-of-money' }, '?')).toEqual([]);
  });
});

describe('a change', () => {
  const schema = compileSchema({
    type: 'object',
    properties: {
      size: { type: 'string', maxLength: 1 },
      keyed: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'string', maxLength: 1 } } },
      },
      plain: { type: 'array', items: { type: 'string', maxLength: 1 } },
      other: { type: 'string' },
    },
  });

  it.each<[string, JsonObject, JsonObject, string[]]>([
    ['that leaves a wrong value alone', { size: 'long' }, { size: 'long', other: 'x' }, []],
    ['to another wrong value', { size: 'long' }, { size: 'longer' }, ['size']],
    ['beside a wrong item with the same key', { keyed: [{ k: 'a', v: 'long' }] }, { keyed: [{ k: 'b' }, { k: 'a', v: 'long' }] }, []],
    ['of a list without keys, which is one value', { plain: ['long'] }, { plain: ['long', 'a'] }, ['plain[0]']],
    ['that keeps such a list', { plain: ['long'] }, { plain: ['long'], other: 'x' }, []],
  ])('%s', (_, old, changed, fields) => {
    expect(schema.validate(changed, old).map(({ field }) => field)).toEqual(fields);
  });
});
