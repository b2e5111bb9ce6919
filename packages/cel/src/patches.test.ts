import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CelError, compile, declare, misplacedTypes, type StructValue, toJson, type Value } from './index.ts';

const variables = new Map([['object', declare.dyn]]);

function compiled(source: string) {
  return compile(source, { variables, makesPatches: true });
}

function evaluated(source: string, object: object = {}): Value {
  const { program, message } = compiled(source);
  if (program === undefined) throw new Error(message);
  const { value, error } = program.evaluate({ object: object as never });
  return error === undefined ? value : new CelError(error);
}

function jsonOf(source: string, object?: object): unknown {
  const json = toJson(evaluated(source, object));
  return json instanceof CelError ? json.message : json;
}

describe('parts of an object', () => {
  test('convert to JSON', () => {
    expect(jsonOf('Object{spec: Object.spec{replicas: 3, paused: true, weights: [1.5], names: {"a": "b"}}}')).toEqual({
      spec: { replicas: 3, paused: true, weights: [1.5], names: { a: 'b' } },
    });
  });

  test('include parts of the object without sharing them', () => {
    const object = { spec: { template: { labels: { a: 'b' } } } };
    const json = toJson(evaluated('Object{spec: object.spec}', object)) as { spec: { template: object } };
    expect(json).toEqual(object);
    expect(json.spec.template).not.toBe(object.spec.template);
  });

  test('omit optional fields without a value', () => {
    expect(jsonOf('Object{?a: optional.none(), ?b: optional.of(1), ?c: optional.ofNonZeroValue(Object.c{})}')).toEqual({ b: 1 });
  });

  test('can be read, and unset fields are null', () => {
    expect(evaluated('Object{a: [1, 2]}.a[1]')).toBe(2);
    expect(evaluated('Object{}.a')).toBe(null);
    expect(evaluated('has(Object{a: 1}.a) && !has(Object{}.a)')).toBe(true);
    expect(evaluated('Object{}.?a.hasValue()')).toBe(false);
  });

  test('are equal if their types and fields are', () => {
    expect(evaluated('Object{a: 1} == Object{a: 2 - 1}')).toBe(true);
    expect(evaluated('Object{a: 1} == Object{a: 2}')).toBe(false);
    expect(evaluated('Object{a: 1} == Object{b: 1}')).toBe(false);
    expect(evaluated('dyn(Object.a{}) == dyn(Object.b{})')).toBe(false);
    expect(evaluated('type(Object{}) == Object')).toBe(true);
  });

  test('must be named by their path', () => {
    const problems = (source: string): string[] => misplacedTypes(evaluated(source) as StructValue);
    expect(problems('Object{spec: Object.spec{list: [Object.spec.list{}], map: {"a": Object.spec.map{}}}}')).toEqual([]);
    expect(problems('Object{spec: Object.metadata{list: [Object.list{}]}}')).toEqual([
      'unexpected type name "Object.metadata", expected "Object.spec", which matches field name path from root Object type',
      'unexpected type name "Object.list", expected "Object.spec.list", which matches field name path from root Object type',
    ]);
  });

  test('have the cost of structs', () => {
    expect(compiled('Object{spec: Object.spec{}}').program!.evaluate({}).cost).toBe(80);
  });

  test('determine the type of the expression', () => {
    expect(compiled('Object{}').program!.typeName).toBe('Object');
    expect(compiled('[Object.spec{}]').program!.typeName).toBe('list(Object.spec)');
    expect(compiled('Object.spec').program!.typeName).toBe('type(Object.spec)');
  });

  test('keep a field called __proto__', () => {
    const json = toJson(evaluated('Object{__proto__: 1, m: {"__proto__": "x"}}')) as Record<string, object>;
    expect(Object.keys(json)).toEqual(['__proto__', 'm']);
    expect(Object.keys(json['m']!)).toEqual(['__proto__']);
  });

  test('are only available for patches', () => {
    expect(compile('Object{}', { variables }).message).toContain("undeclared reference to 'Object'");
    expect(compile('jsonpatch.escapeKey("a")', { variables }).message).toContain("undeclared reference to 'escapeKey'");
    expect(compiled('Other{}').message).toContain("undeclared reference to 'Other'");
    expect(compiled('object{}').message).toContain("'dyn' is not a type");
  });
});

describe('JSON patch operations', () => {
  test('hold a path and any value', () => {
    expect(jsonOf('[JSONPatch{op: "add", path: "/a/" + jsonpatch.escapeKey("x/y~z"), value: Object.a{b: 1}}]')).toEqual([
      { op: 'add', path: '/a/x~1y~0z', value: { b: 1 } },
    ]);
  });

  test.each(['op', 'path', 'from'])('reject a %s that is not a string', (field) => {
    expect(compiled(`JSONPatch{${field}: 1}`).message).toContain(
      `expected type of field '${field}' is 'string' but provided type is 'int'`,
    );
    expect(evaluated(`JSONPatch{${field}: dyn(1)}`)).toEqual(new CelError(`unexpected type int64 for JSONPatchType '${field}' field`));
  });

  test('convert values without a JSON form as protobuf does', () => {
    expect(jsonOf('[5u, 9007199254740993u]')).toEqual([5, '9007199254740993']);
    expect(jsonOf('[9007199254740993, 9007199254740991]')).toEqual(['9007199254740993', 9007199254740991]);
    expect(jsonOf('b"hello"')).toBe('aGVsbG8=');
    expect(jsonOf('timestamp("2020-01-01T00:00:00.5Z")')).toBe('2020-01-01T00:00:00.5Z');
    expect(jsonOf('[duration("90m"), duration("-1.5s"), duration("0s")]')).toEqual(['5400s', '-1.500s', '0s']);
    expect(jsonOf('optional.of("x")')).toBe('x');
  });

  test('report values that cannot be converted', () => {
    expect(jsonOf('{1: "a"}')).toBe("unsupported type conversion from 'int' to string");
    expect(jsonOf('type(1)')).toBe("type conversion not supported for 'type'");
    expect(jsonOf('quantity("1")')).toBe("type conversion error from 'Quantity' to '*structpb.Value'");
    expect(jsonOf('1.0 / 0.0')).toBe('json: unsupported value: +Inf');
  });
});

test('rejects repeated large parts instead of filling the memory', () => {
  const object = { text: 'x'.repeat(1_000_000) };
  const source = `Object{all: [${Array.from({ length: 100 }, () => 'object').join(', ')}]}`;
  expect(jsonOf(source, object)).toBe('the value is larger than 8388608 characters');
});

test('round-trips any JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (json) => {
      const expected = JSON.parse(JSON.stringify(json)) as unknown;
      const { program } = compiled('Object{a: object}');
      const { value } = program!.evaluate({ object: { inside: expected } as never });
      expect(toJson(value!)).toEqual({ a: { inside: expected } });
    }),
  );
});

test('compiles or rejects any text, and evaluates and converts the result without throwing', () => {
  const pieces = [
    'Object',
    'JSONPatch',
    '.spec',
    '{',
    '}',
    ':',
    ',',
    '?',
    'op',
    'a',
    '"x"',
    '1',
    '[',
    ']',
    'object',
    '.a',
    ' == ',
    'has(',
    ')',
    'null',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 20 }), (parts) => {
      const { program, errors } = compiled(parts.join(''));
      if (program === undefined) {
        expect(errors!.length).toBeGreaterThan(0);
        return;
      }
      const { value } = program.evaluate({ object: { a: { b: 1 } } }, { costLimit: 10_000 });
      if (value !== undefined) expect(() => toJson(value)).not.toThrow();
    }),
    { numRuns: 2000 },
  );
});
