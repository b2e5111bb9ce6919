import { expect, test } from 'vitest';
import { chosenControllers, controllers } from './index.ts';

const names = (...choice: string[]): string[] => chosenControllers(controllers, choice).map(({ name }) => name);
const all = controllers.map(({ name }) => name);

test('controllers are named once, as they name themselves', () => {
  expect(new Set(all).size).toBe(all.length);
  for (const { name, make } of controllers)
    expect(make({ authority: undefined, signing: undefined, concurrency: undefined }).name).toBe(name);
});

test.each([
  [['*'], all],
  [['namespace'], ['namespace']],
  [['*', '-namespace'], all.filter((name) => name !== 'namespace')],
  [['-namespace', 'namespace', 'garbage-collector'], ['garbage-collector']],
  [['-namespace'], []],
])('%j chooses', (choice, expected) => {
  expect(names(...choice)).toEqual(expected);
});
