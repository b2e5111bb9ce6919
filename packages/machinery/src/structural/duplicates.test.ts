import { expect, test } from 'vitest';
import { whole } from '../work/parts.ts';
import { duplicateFields } from './duplicates.ts';

const found = (text: string): string[] => whole(duplicateFields(text, JSON.parse(text)));

test('finds duplicate fields at any depth, known or unknown', () => {
  expect(found('{"a":{"x":1,"x":2},"l":[{"y":1,"y":2}],"a":{}}')).toEqual([
    'duplicate field "a.x"',
    'duplicate field "l[0].y"',
    'duplicate field "a"',
  ]);
  expect(found('{"a":{"x":1},"b":{"x":1}}')).toEqual([]);
});

test('does not exhaust the stack on deep values', () => {
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  expect(found(`{"b":1,"b":${deep}}`)).toEqual(['duplicate field "b"']);
});
