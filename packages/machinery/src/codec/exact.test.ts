import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectType } from '../schema/type.ts';
import { whole } from '../work/parts.ts';
import { lookedThrough } from './depth.ts';
import { parseExact } from './exact.ts';
import { checkLiterals, markedProblem, markLiterals, unmarked } from './literals.ts';
import { parseYaml } from './yaml.ts';

describe('64-bit integers', () => {
  it('are written exactly as they were read', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const text = `{"a":[${value}],"b":"${value}"}`;
        expect(JSON.stringify(parseExact(text))).toBe(text);
        expect(JSON.stringify(parseYaml(`a: [${value}]\nb: "${value}"\n`))).toBe(text);
      }),
    );
  });

  it('are found anywhere in the text', () => {
    for (let before = 0; before < 40; before++) {
      const text = `{"${'a'.repeat(before)}":9007199254740993}`;
      expect(JSON.stringify(parseExact(text))).toBe(text);
    }
  });

  it('are numbers if a number holds them exactly', () => {
    expect(parseExact('{"a":9007199254740991,"b":"1234567890123456"}')).toEqual({ a: 9007199254740991, b: '1234567890123456' });
  });

  it('become the nearest number if they exceed 64 bits', () => {
    expect(parseExact('[9223372036854775808, 1e20]')).toEqual([2 ** 63, 1e20]);
  });
});

describe('checkLiterals', () => {
  const spec: ObjectType = {
    kind: 'object',
    name: 'io.k8s.Spec',
    atomic: false,
    preserveUnknown: false,
    fields: new Map([
      ['n', { name: 'n', required: false, type: { kind: 'scalar', scalar: 'int64' } }],
      [
        'list',
        { name: 'list', required: false, type: { kind: 'list', items: { kind: 'scalar', scalar: 'int32' }, listType: 'atomic', keys: [] } },
      ],
      ['f', { name: 'f', required: false, type: { kind: 'scalar', scalar: 'double' } }],
    ]),
  };
  const type: ObjectType = { ...spec, name: 'io.k8s.Thing', fields: new Map([['spec', { name: 'spec', required: false, type: spec }]]) };

  it.each([
    ['{"n": 1e3}', 'number 1e3 into Go struct field Spec.spec.n of type int64'],
    ['{"n": 1.0}', 'number 1.0 into Go struct field Spec.spec.n of type int64'],
    ['{"n": 9223372036854775808}', 'number 9223372036854775808 into Go struct field Spec.spec.n of type int64'],
    ['{"list": [1, 2.0]}', 'number 2.0 into Go struct field Spec.spec.list of type int32'],
  ])('rejects %s', (text, message) => {
    expect(() => whole(checkLiterals(`{"spec":${text}}`, type))).toThrow(`json: cannot unmarshal ${message}`);
  });

  it.each(['{"n": 1}', '{"n": 9223372036854775807}', '{"f": 1.0}', '{"list": [1]}', '{"x": 1.0}'])('accepts %s', (text) => {
    expect(() => whole(checkLiterals(`{"spec":${text}}`, type))).not.toThrow();
  });

  it('finds them in a long text, in parts', () => {
    const text = `{"spec":{"list":[${'1,'.repeat(80_000)}1],"n":1.0}}`;
    const parts = checkLiterals(text, type);
    for (let count = 0; count < 20; count++) expect(parts.next().done).toBe(false);
    expect(() => whole(parts)).toThrow('json: cannot unmarshal number 1.0');
  });

  it('looks for them in parts, and finds them wherever the text is cut', () => {
    const parts = checkLiterals(`{"spec":{"list":[${'1,'.repeat(300_000)}1]}}`, type);
    for (let count = 0; count < 4; count++) expect(parts.next().done).toBe(false);
    whole(parts);
    for (let before = 0; before < 20; before++) {
      const filler = 'x'.repeat(lookedThrough - 30 + before);
      expect(() => whole(checkLiterals(`{"x":"${filler}","spec":{"n":   1.0}}`, type)), `${before}`).toThrow('number 1.0');
      expect(() => whole(checkLiterals(`{"x":"${filler}","spec":{"list":[1,  2.0]}}`, type)), `${before}`).toThrow('number 2.0');
    }
  });

  it('finds them in a patched object and restores their notation', () => {
    const marked = whole(markLiterals('{"spec":{"n":1e3,"f":1.50}}'))!;
    expect(whole(markedProblem(JSON.parse(marked), type))).toBe(
      'json: cannot unmarshal number 1e3 into Go struct field Spec.spec.n of type int64',
    );
    expect(unmarked(marked)).toBe('{"spec":{"n":1e3,"f":1.50}}');
    expect(whole(markLiterals('{"spec":{"n":1}}'))).toBeUndefined();
  });
});
