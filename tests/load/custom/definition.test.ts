import { expect, test } from 'vitest';
import { type Schema, schema, sectionsOfLargeSchema } from './definition.ts';
import { resourceBodies } from './resource.ts';

test('generates a large schema with 200 fields and five rules', () => {
  const large = schema(sectionsOfLargeSchema);
  expect(total(large, (part) => Object.keys(part.properties ?? {}).length)).toBe(200);
  expect(total(large, (part) => (part['x-kubernetes-validations'] as unknown[] | undefined)?.length ?? 0)).toBe(5);
});

test('generates a resource for it of about 4 KB', () => {
  const bodies = resourceBodies({ apiVersion: 'load.example.com/v1', kind: 'Gadgets', sections: sectionsOfLargeSchema });
  expect(Math.round(bodies('g-1').length / 1024)).toBe(4);
});

function total(part: Schema, count: (part: Schema) => number): number {
  const inner = [...Object.values(part.properties ?? {}), part.items, part.additionalProperties].filter((schema) => schema !== undefined);
  return inner.reduce((sum, schema) => sum + total(schema, count), count(part));
}
