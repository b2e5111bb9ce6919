import { expect, test } from 'vitest';
import { remaining } from './remains.ts';

test('reports the objects and finalizers that a deletion waits for', () => {
  expect(remaining({ resources: { 'b.x': 2, 'a.x': 1 }, finalizers: { 'x/hold': 3 } }).message).toBe(
    'Some resources are remaining: a.x has 1 resource instances, b.x has 2 resource instances; ' +
      'Some content in the logical cluster has finalizers remaining: x/hold in 3 resource instances',
  );
});

test('limits the length of the message, so that it can always be stored', () => {
  const finalizers = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`x/${at}`, 1]));
  const { message = '' } = remaining({ resources: {}, finalizers });
  expect(message.length).toBeLessThan(5_000);
  expect(message).toMatch(/, and 99950 more$/);
});
