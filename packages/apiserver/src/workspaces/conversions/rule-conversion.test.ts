import { asClusterId } from '@capstan/api';
import { compileSchema } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { CacheEntry } from '../../cache/entry.ts';
import type { ConversionParts } from '../../crds/conversion.ts';
import { Pace } from '../../registry/pace.ts';
import type { Quarantine } from '../../registry/quarantine.ts';
import { ruleConversion } from './rule-conversion.ts';

const schema = compileSchema({ type: 'object', properties: { spec: { type: 'object', properties: { name: { type: 'string' } } } } });
const versions = ['v1', 'v2'].map((name) => ({ name, served: true }));
const parts = {
  summary: { group: 'example.com', names: { kind: 'Thing' }, storageVersion: 'v1', versions },
  version: versions[1],
  cluster: asClusterId('a'),
  isOlder: () => false,
  schemaOf: () => schema,
} as unknown as ConversionParts;
const rules = [{ field: '.spec.name', destination: '.spec.name', transformation: "self + '!'" }];
const entryOf = (index: number): CacheEntry =>
  new CacheEntry(
    `a//${index}`,
    `{"kind":"Thing","apiVersion":"example.com/v1","metadata":{"resourceVersion":"1","name":"${index}"},"spec":{"name":"n${index}"}}`,
    1,
  );

const quarantine = { held: () => undefined, mark: () => {} } as unknown as Quarantine;

test('many objects are converted one by one, each in the turn of whoever asks', async () => {
  const conversion = ruleConversion({ spec: { conversions: [{ from: 'v1', to: 'v2', rules }] }, quarantine })(parts);
  let time = 0;
  let turns = 0;
  const turn = (): Promise<void> => Promise.resolve(void turns++);
  // Each look at the clock takes longer than a slice.
  const pace = new Pace({ turn }, () => (time += 10));
  const entries = Array.from({ length: 50 }, (_, index) => entryOf(index));
  await conversion.ahead!(entries, pace);
  expect(turns).toBe(50);
  const [first] = entries;
  expect(conversion.fromStorage(first!.parse(), first!)['spec']).toEqual({ name: 'n0!' });
  expect(conversion.ahead!(entries, pace)).toBeUndefined();
});
