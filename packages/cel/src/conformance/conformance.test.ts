import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { whole } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { compile } from '../program.ts';
import { equalValues } from '../value/equality.ts';
import { printValue } from '../value/print.ts';
import { typeNameOf } from '../value/type-name.ts';
import { Double } from '../value/value.ts';
import { readCases, type Suite } from './cases.ts';

const cases = readCases(tests as Suite);

test('most of the suite applies', () => {
  expect(cases.length).toBeGreaterThan(1000);
});

test.each(cases)('$name: $source', ({ source, variables, bindings, expected }) => {
  const compilation = compile(source, { variables });
  if (compilation.program === undefined) {
    expect(expected, compilation.message).toBeUndefined();
    return;
  }
  const outcome = compilation.program.evaluate(bindings);
  expect(whole(compilation.program.evaluateInParts(bindings))).toEqual(outcome);
  const { value, error } = outcome;
  if (expected === undefined) {
    expect(error).toBeDefined();
    return;
  }
  expect(error).toBeUndefined();
  expect(typeNameOf(value!)).toBe(typeNameOf(expected));
  const isBothNotANumber = expected instanceof Double && Number.isNaN(expected.value) && Number.isNaN((value as Double).value);
  expect(isBothNotANumber || equalValues(value!, expected), `${printValue(value!)} is not ${printValue(expected)}`).toBe(true);
});
