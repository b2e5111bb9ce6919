import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { yamlOf } from './reply.ts';

const nested = (depth: number): string => `${'{"a":['.repeat(depth / 2)}"[{]}"${']}'.repeat(depth / 2)}`;

test.each([
  ['short', '{"b":"x\\"{[","a":[1,{"c":null}]}', 'a:\n- 1\n- c: null\nb: x"{[\n'],
  ['not too deep', nested(64), expect.stringMatching(/^a:\n- a:\n/)],
])('formats %s JSON as YAML', (_, json, yaml) => {
  expect(yamlOf(json)).toEqual(yaml);
});

test.each([
  ['long', JSON.stringify({ text: 'x'.repeat(200_000) })],
  ['deep', nested(66)],
])('leaves %s JSON as it is, which is valid YAML, so that no client can block others', (_, json) => {
  expect(yamlOf(json)).toBe(json);
  expect(load(yamlOf(json))).toEqual(JSON.parse(json));
});
