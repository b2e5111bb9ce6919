import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CodecError } from './error.ts';
import { parseYaml, parseYamlInParts, parseYamlStrictly, yamlDuplicates } from './yaml.ts';

describe('parseYaml', () => {
  it.each([
    ['name: y', { name: true }],
    ['a: [yes, On, no, OFF, ~, null, ""]', { a: [true, true, false, false, null, null, ''] }],
    ['a: [1_000, 0x10, 010, 0o17, 0b11, -5, 08, 1e3, .5, "1"]', { a: [1000, 16, 8, 15, 3, -5, 8, 1000, 0.5, '1'] }],
    ['a: [2020-01-01, 2020-01-01T00:00:00Z, 1.2.3, -x, +a]', { a: ['2020-01-01', '2020-01-01T00:00:00Z', '1.2.3', '-x', '+a'] }],
    ['{1: x, true: z, 1.5: w}', { '1': 'x', true: 'z', '1.5': 'w' }],
    ['a: !!binary YQ==\nb: !!str 1\nc: !custom x', { a: 'YQ==', b: '1', c: 'x' }],
    ['a: &a {x: 1}\nb: {<<: *a, z: 2}', { a: { x: 1 }, b: { x: 1, z: 2 } }],
    ['a: 1\n---\nb: 2', { a: 1 }],
    ['', null],
    ['x', 'x'],
  ])('reads %j as Kubernetes does', (text, value) => {
    expect(parseYaml(text)).toEqual(value);
  });

  it.each([
    ['a: [', 'yaml: line 1: did not find expected node content'],
    ['a: b: c', 'yaml: mapping values are not allowed in this context'],
    ['kind: ConfigMap\n  apiVersion: v1', 'yaml: line 2: mapping values are not allowed in this context'],
    ['\ta: b', 'yaml: found character that cannot start any token'],
    ['"a', 'yaml: found unexpected end of stream'],
    ['{a: b', "yaml: line 1: did not find expected ',' or '}'"],
    ['x: [1, 2\ny: 3', "yaml: line 1: did not find expected ',' or ']'"],
    ['a: |\n x\nb', "yaml: line 4: could not find expected ':'"],
    ['- a\nb: c', "yaml: line 1: did not find expected '-' indicator"],
    ['a:\n  - b\n c: d', 'yaml: line 2: did not find expected key'],
    ['a: *x', "yaml: unknown anchor 'x' referenced"],
    ['a: 1\n\tb: 2', 'yaml: line 2: found a tab character that violates indentation'],
    ['a: "\\z"', 'yaml: found unknown escape character'],
    ['{null: z}', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "z"'],
    ['a: .inf', 'json: unsupported value: +Inf'],
  ])('rejects %j as Kubernetes does', (text, message) => {
    expect(() => parseYaml(text)).toThrow(new CodecError(message));
  });

  it('rejects aliases that multiply, and one that contains itself', () => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let level = 1; level < 9; level++)
      lines.push(
        `a${level}: &a${level} [${Array(10)
          .fill(`*a${level - 1}`)
          .join(',')}]`,
      );
    expect(() => parseYaml(lines.join('\n'))).toThrow('yaml: document contains excessive aliasing');
    expect(() => parseYaml('a: &a [*a]')).toThrow('yaml: document contains excessive aliasing');
  });

  it('accepts nesting up to a limit, and reports where it is exceeded', () => {
    const nested = (levels: number): string => `a: 1\nb: ${'['.repeat(levels)}${']'.repeat(levels)}`;
    expect(() => parseYaml(nested(900))).not.toThrow();
    expect(() => parseYaml(nested(10_001))).toThrow('yaml: line 2: exceeded max depth of 1000');
    expect(() => parseYaml('{"a":'.repeat(10_001))).toThrow('yaml: exceeded max depth of 1000');
  });

  it('copies the target of an alias', () => {
    const value = parseYaml('a: &a {x: 1}\nb: *a') as { a: object; b: object };
    expect(value.a).not.toBe(value.b);
  });

  it('does not set prototypes', () => {
    const value = parseYaml('__proto__: {polluted: true}');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('reads JSON as JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme-ascii' }), (value) => {
        expect(JSON.stringify(sorted(parseYaml(JSON.stringify(value))))).toBe(JSON.stringify(sorted(JSON.parse(JSON.stringify(value)))));
      }),
    );
  });

  it('throws only CodecErrors', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'a:-[]{}&*!|>\'"%@`#?,\n\t 1~<.') })), (text) => {
        try {
          parseYaml(text);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError);
        }
      }),
      { numRuns: 500 },
    );
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.entries(value)
    .map(([key, inner]) => [key, sorted(inner)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

describe('parseYamlStrictly', () => {
  it('reads long JSON in parts, with the same result', () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`key-${index}`, { value: 'x' }])));
    const reading = parseYamlInParts(text);
    let parts = 0;
    let part = reading.next();
    for (; part.done !== true; part = reading.next()) parts++;
    expect(parts).toBeGreaterThan(40);
    expect(part.value).toEqual({ value: JSON.parse(text), duplicates: undefined });
  });

  it('returns the value and its duplicate keys', () => {
    expect(parseYamlStrictly('a: 1\na: 2')).toEqual({
      value: { a: 2 },
      duplicates: 'yaml: unmarshal errors:\n  line 2: key "a" already set in map',
    });
    expect(parseYamlStrictly('a: {b: [1]}')).toEqual({ value: { a: { b: [1] } }, duplicates: undefined });
  });

  it('rejects invalid YAML', () => {
    expect(() => parseYamlStrictly('a: [1')).toThrow(CodecError);
  });
});

describe('yamlDuplicates', () => {
  it('reports every duplicate in order, by its resolved value', () => {
    expect(yamlDuplicates('a: {x: 1, x: 2}\nn: 1\nn: 2\nb: 1\n"a": 3\n')).toBe(
      'yaml: unmarshal errors:\n  line 1: key "x" already set in map\n  line 3: key false already set in map\n  line 5: key "a" already set in map',
    );
  });

  it('reports a duplicate key with its line', () => {
    expect(yamlDuplicates('a: 1\nb: {c: 1, c: 2}')).toBe('yaml: unmarshal errors:\n  line 2: key "c" already set in map');
    expect(yamlDuplicates('a: 1\nb: 2')).toBeUndefined();
  });
});

describe('a long document', () => {
  const keys = (count: number): string => Array.from({ length: count }, (_, index) => `k${index}: v`).join('\n');

  it('is rejected as YAML but accepted as JSON', () => {
    expect(() => parseYaml(keys(60_000))).toThrow(/^yaml: document has \d+ characters, the limit for YAML is 262144: send it as JSON$/);
    expect(() => parseYamlStrictly(keys(60_000))).toThrow(/send it as JSON$/);
    const json = JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`k${index}`, 'v'])));
    expect(Object.keys(parseYamlStrictly(json).value as object).length).toBe(60_000);
  });

  it('is not read a hundred times to find duplicates', () => {
    const repeated = Array.from({ length: 200 }, (_, index) => `r${index}: 1\nr${index}: 2`).join('\n');
    expect(parseYamlStrictly(repeated).duplicates!.split('\n').length).toBe(89);
    expect(parseYamlStrictly(`${repeated}\n${keys(24_000)}`).duplicates!.split('\n').length).toBe(3);
  });
});

it('JSON is read the same way by either reader', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      const json = JSON.stringify(object);
      expect(parseYaml(json)).toEqual(parseYaml(` ${json}`));
    }),
  );
});

it.each(['{"a":1e999}', '{"a":NaN}', '{"a":.5}', '{a: 1}', "{'a': 1}", '{"a":1,}', '{"a":1,"a":2}', '{"a":0x10}', '{"a": &x 1, "b": *x}'])(
  '%s is read as YAML',
  (text) => {
    const outcome = (read: () => unknown): unknown => {
      try {
        return read();
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(outcome(() => parseYamlStrictly(text))).toEqual(outcome(() => parseYamlStrictly(` ${text}`)));
  },
);
