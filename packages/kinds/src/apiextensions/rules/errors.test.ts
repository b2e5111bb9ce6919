import { FieldPath, type JsonObject, whole } from '@capstan/machinery';
import { expect, it } from 'vitest';
import { ruleErrors } from './errors.ts';

const schema = (count: number): JsonObject => ({
  type: 'object',
  properties: {
    a: {
      type: 'array',
      maxItems: 1,
      items: {
        type: 'string',
        maxLength: 5,
        'x-kubernetes-validations': [{ rule: Array.from({ length: count }, () => '1==1').join('&&') }],
      },
    },
  },
});

it('rejects rules whose total length exceeds the limit before compiling them', () => {
  const errors = (count: number): string[] =>
    whole(ruleErrors(schema(count), FieldPath.of('spec'), () => false)).map(({ field, body }) => `${field}: ${body}`);
  expect(errors(100)).toEqual([]);
  expect(errors(30_000)).toEqual(['spec: Forbidden: the rules of the schema have 179998 characters together, and 131072 is the limit']);
});
