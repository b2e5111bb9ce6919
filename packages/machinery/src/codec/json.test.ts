import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { whole } from '../work/parts.ts';
import { maxDepth } from './depth.ts';
import { CodecError, unrecognizedBody } from './error.ts';
import { parseJson, readTypeMeta } from './json.ts';
import { countKeys, explainSyntaxError } from './json-syntax.ts';

function messageOf(text: string): string {
  try {
    parseJson(text);
  } catch (error) {
    expect(error).toBeInstanceOf(CodecError);
    return (error as Error).message;
  }
  throw new Error(`${text} was parsed without an error`);
}

describe('parseJson', () => {
  it.each([
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['{"a"', 'unexpected end of JSON input'],
    ['tru', 'unexpected end of JSON input'],
    ['{"a":}', "invalid character '}' looking for beginning of value"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['nope', "invalid character 'o' in literal null (expecting 'u')"],
    ['{"a":"\\x"}', "invalid character 'x' in string escape code"],
    ['{"a":"\\u12x"}', "invalid character 'x' in \\u hexadecimal character escape"],
    ['{"a":"\n"}', "invalid character '\\n' in string literal"],
    ['{"a":01}', "invalid character '1' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['[1.x]', "invalid character 'x' after decimal point in numeric literal"],
    ['[1ex]', "invalid character 'x' in exponent of numeric literal"],
    ['[-x]', "invalid character 'x' in numeric literal"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
    ["'", "invalid character '\\'' looking for beginning of value"],
  ])('reports %j as Go does', (text, message) => {
    expect(messageOf(text)).toBe(message);
  });

  it('accepts nesting up to a limit, and rejects deeper values as Kubernetes does', () => {
    expect(() => parseJson('['.repeat(maxDepth) + ']'.repeat(maxDepth))).not.toThrow();
    expect(messageOf('['.repeat(maxDepth + 1) + ']'.repeat(maxDepth + 1))).toBe("invalid character '[' exceeded max depth");
  });

  it('explains an error at the end of a long text, in parts', () => {
    const parts = explainSyntaxError(`[${'"\\u0041\\n",'.repeat(20_000)}x`);
    let count = 0;
    for (let part = parts.next(); ; part = parts.next(), count++) {
      if (part.done !== true) continue;
      expect(part.value).toBe("invalid character 'x' looking for beginning of value");
      break;
    }
    expect(count).toBeGreaterThan(20);
  });

  it('explains errors in and after long strings', () => {
    const long = `${'x'.repeat(5_000)}${'\\u0041\\n'.repeat(5_000)}`;
    expect(messageOf(`["${long}`)).toBe('unexpected end of JSON input');
    expect(messageOf(`["${long}\\x"]`)).toBe("invalid character 'x' in string escape code");
    expect(messageOf(`["${long}" "`)).toBe("invalid character '\"' after array element");
  });

  it('ignores brackets inside strings', () => {
    const text = JSON.stringify({ a: `${'['.repeat(maxDepth + 1)}\\"` });
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('replaces half of a surrogate pair, and keeps whole pairs', () => {
    expect(parseJson('{"a":"\\ud800x","\\u0062":"\\ud83d\\ude00"}')).toEqual({ a: '\ufffdx', b: '😀' });
  });

  it('accepts what JSON.parse accepts and throws a CodecError for everything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0e-1.tnf ') })), (text) => {
        let expected: unknown;
        try {
          expected = JSON.parse(text);
        } catch {
          expect(messageOf(text)).toMatch(/^(unexpected end of JSON input|invalid character .+)$/);
          return;
        }
        expect(JSON.stringify(parseJson(text))).toBe(
          JSON.stringify(expected, (_key, value) => (typeof value === 'string' ? value.toWellFormed() : value)),
        );
      }),
    );
  });
});

describe('countKeys', () => {
  it('counts the keys of the text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(whole(countKeys(JSON.stringify(value, null, 1)))).toBe(keysOf(value));
      }),
    );
  });

  it('counts those of a long text in parts', () => {
    const text = `{${Array.from({ length: 30_000 }, (_, index) => `"key:${index}":{}`).join()}}`;
    const parts = countKeys(text);
    for (let part = 0; part < 3; part++) expect(parts.next().done).toBe(false);
    expect(whole(countKeys(text))).toBe(30_000);
  });

  it('ignores colons, quotes and backslashes inside strings', () => {
    expect(whole(countKeys('{"a:\\"b":"c\\\\","d":":"}'))).toBe(2);
  });
});

function keysOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + keysOf(inner), own);
}

describe('readTypeMeta', () => {
  it('reads kind and version, and treats absent ones as empty', () => {
    expect(readTypeMeta({ apiVersion: 'v1', kind: 'Pod' })).toEqual({ apiVersion: 'v1', kind: 'Pod' });
    expect(readTypeMeta({})).toEqual({ apiVersion: '', kind: '' });
    expect(readTypeMeta(null)).toEqual({ apiVersion: '', kind: '' });
  });

  it('rejects anything but an object as Kubernetes does', () => {
    expect(() => readTypeMeta([])).toThrow(
      `couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
    expect(() => readTypeMeta({ kind: 5 })).toThrow('json: cannot unmarshal number into Go struct field .kind of type string');
  });
});

describe('unrecognizedBody', () => {
  const error = new CodecError('why');

  it.each([
    ['', '<empty>'],
    ['{', '{'],
    ['[]', '5b5d'],
    ['{"kind":"ConfigMap","apiVersion":"v1"} x', '{"kind":"ConfigMap","apiVersio ...'],
    ['\ufeff{"kind":"ConfigMap","apiVersion":"v1"}', 'efbbbf7b226b696e64223a22436f6e6669674d6170222c22617069566572 ...'],
  ])('shows the start of %j', (body, summary) => {
    expect(unrecognizedBody('ConfigMap', error, body).message).toBe(
      `the object provided is unrecognized (must be of type ConfigMap): why (${summary})`,
    );
  });
});
