import { describe, expect, test } from 'vitest';
import { compile, type Declaration, declarationOfSchema, declare, type StructuralSchema } from './index.ts';

const schema: StructuralSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', maxLength: 10 },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    tags: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 5 } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    nested: { type: 'object', properties: { 'a-b': { type: 'string' }, namespace: { type: 'string' }, constructor: { type: 'string' } } },
    port: { 'x-kubernetes-int-or-string': true },
    when: { type: 'string', format: 'date-time' },
    wait: { type: 'string', format: 'duration' },
    data: { type: 'string', format: 'byte' },
    note: { type: 'string', nullable: true },
    set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    map: {
      type: 'array',
      items: { type: 'object', properties: { key: { type: 'string' }, value: { type: 'integer' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
    },
    embedded: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const self = declarationOfSchema(schema, { name: 'selfType' })!;
const variables = new Map<string, Declaration>([['self', self]]);

const data = {
  text: 'hello',
  count: 3,
  ratio: 1,
  tags: ['a', 'b'],
  labels: { a: 'x', __proto__x: 'y' },
  nested: { 'a-b': 'dash', namespace: 'ns' },
  port: 80,
  when: '2024-01-01T00:00:00Z',
  wait: '1h',
  data: 'aGVsbG8=',
  note: null,
  set: ['a', 'b'],
  map: [
    { key: 'a', value: 1 },
    { key: 'b', value: 2 },
  ],
  embedded: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } },
};

function outcomeOf(source: string, costLimit?: number) {
  const { program, message } = compile(source, { variables });
  if (program === undefined) throw new Error(message);
  return program.evaluate({ self: data }, costLimit === undefined ? {} : { costLimit });
}

describe('data with a schema', () => {
  test.each([
    ['a number is a double even if JSON says 1', 'self.ratio == 1.0'],
    ['a property with a dash', "self.nested.a__dash__b == 'dash'"],
    ['a property that is a reserved word', "self.nested.__namespace__ == 'ns'"],
    ['an inherited property is absent', '!has(self.nested.constructor)'],
    ['a null property is absent', '!has(self.note)'],
    ['an integer of int-or-string', 'type(self.port) == int && self.port == 80'],
    ['a time', "self.when < timestamp('2025-01-01T00:00:00Z')"],
    ['a duration', "self.wait == duration('60m')"],
    ['bytes', "self.data == b'hello'"],
    ['sets in another order are equal', "self.set == ['b', 'a']"],
    ['adding to a set skips existing elements', "(self.set + ['a', 'c']).size() == 3"],
    ['keyed lists in another order are equal', 'self.map == [self.map[1], self.map[0]]'],
    ['adding to a keyed list replaces', '(self.map + [self.map[0]]).size() == 2'],
    ['an embedded resource has a kind and a name', "self.embedded.kind == 'Pod' && self.embedded.metadata.name == 'p'"],
    ['a map has a key', "'a' in self.labels && !('b' in self.labels)"],
    ['an optional field', "self.?note.orValue('none') == 'none'"],
  ])('%s: %s', (_what, source) => {
    expect(outcomeOf(source)).toMatchObject({ value: true });
  });

  test('rejects undeclared fields', () => {
    const compilation = compile('self.nope > 1', { variables });
    expect(compilation).toMatchObject({
      stage: 'compilation',
      message: "ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^",
      errors: [{ line: 1, column: 5, message: "undefined field 'nope'" }],
    });
  });
});

describe('errors are values', () => {
  test.each([
    ['self.tags[5] == "x"', 'index out of bounds: 5'],
    ['self.labels.missing == "x"', 'no such key: missing'],
    ['self.count / (self.count - 3) == 1', 'division by zero'],
    ['9223372036854775807 + self.count > 0', 'integer overflow'],
    ['self.port.startsWith("a")', 'no such overload'],
    ['optional.none().value() == 1', 'optional.none() dereference'],
  ])('%s fails with %s', (source, error) => {
    expect(outcomeOf(source)).toMatchObject({ error, isCostExceeded: false });
  });

  test.each([
    ['a deciding term absorbs them, on either side', 'self.tags[5] == "x" || true', true],
    ['false absorbs them too', 'self.tags[5] == "x" && false', false],
    ['exists finds a later element', '[0, 1].exists(x, 1 / x == 1)', true],
    ['all fails on a later element', '[0, 1].all(x, 1 / x == 2)', false],
  ])('%s: %s', (_what, source, value) => {
    expect(outcomeOf(source)).toMatchObject({ value });
  });
});

describe('error messages of cel-go', () => {
  test.each([
    ['self.count + self.text', "found no matching overload for '_+_' applied to '(int, string)'"],
    ['self.text.startsWith(1)', "found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ["[1, 'a'].size() == 2", "expected type 'int' but found 'string'"],
    ['foo(1)', "undeclared reference to 'foo' (in container '')"],
    ['has(self)', 'invalid argument to has() macro'],
    ['self.tags.all(1, true)', 'argument must be a simple name'],
    ['self.text && true', "expected type 'bool' but found 'string'"],
    ['self.count.exists(x, true)', "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
    ["self.text.matches('(')", 'invalid matches argument'],
    ["duration('x') == self.wait", 'invalid duration argument'],
    ['if == 1', 'reserved identifier: if'],
    ['9223372036854775808 == 1', 'invalid int literal'],
    ['self.tags.sort() == []', "undeclared reference to 'sort' (in container '')"],
    ["'%d'.format(['a']) == ''", 'error during formatting: decimal clause can only be used on integers, was given string'],
    ['(1', "Syntax error: missing ')' at '<EOF>'"],
    ['1 2', "Syntax error: extraneous input '2' expecting <EOF>"],
    ["'a", "Syntax error: token recognition error at: ''a'"],
  ])('%s: %s', (source, message) => {
    expect(compile(source, { variables }).errors?.map((error) => error.message)).toContain(message);
  });

  test('each error shows its line, with a wide mark under wide characters', () => {
    const { message } = compile("'日本' == x &&\n  y", { variables: new Map() });
    expect(message).toBe(
      "ERROR: <input>:1:9: undeclared reference to 'x' (in container '')\n | '日本' == x &&\n | .．．.....^\n" +
        "ERROR: <input>:2:3: undeclared reference to 'y' (in container '')\n |   y\n | ..^",
    );
  });

  test('a pattern that the checks skip is validated when the program is created', () => {
    expect(compile("self.text.find('(') == ''", { variables })).toMatchObject({
      stage: 'program instantiation',
      message: 'error parsing regexp: missing closing ): `(`',
    });
  });
});

test('stored expressions may use functions of the latest version', () => {
  const { program } = compile("self.tags.sortBy(x, x).reverse() == ['b', 'a']", { variables, isStored: true });
  expect(program?.evaluate({ self: data })).toMatchObject({ value: true });
});

test('a program reports the variables it uses and its result type', () => {
  const { program } = compile('self.tags.map(self, self)', { variables: new Map([...variables, ['other', self]]) });
  expect(program?.typeName).toBe('list(string)');
  expect(program?.uses('self')).toBe(true);
  expect(program?.uses('other')).toBe(false);
});

test('an optional variable is empty if null is bound', () => {
  const options = { variables: new Map([...variables, ['oldSelf', declare.optional(self)]]) };
  const { program } = compile('oldSelf.count.orValue(7) == 7', options);
  expect(program?.evaluate({ self: data, oldSelf: null })).toMatchObject({ value: true });
  expect(program?.evaluate({ self: data, oldSelf: data })).toMatchObject({ value: false });
});

test('a variable without a schema is dynamic', () => {
  const source = 'object.spec.items.exists(i, i.n == 2.5) && type(object.spec.count) == int && !has(object.spec.y)';
  const { program } = compile(source, { variables: new Map([['object', declare.dyn]]) });
  expect(program?.evaluate({ object: { spec: { count: 1, items: [{ n: 1 }, { n: 2.5 }] } } })).toMatchObject({ value: true });
});
