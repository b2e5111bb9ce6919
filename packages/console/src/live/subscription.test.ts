import { beforeEach, expect, test } from 'vitest';
import { ListSubscription } from './subscription.ts';

const change = (name: string): string => JSON.stringify({ type: 'ADDED', object: { name } });
const limit = 3 * change('a').length;

let waiting: number;
let items: string[];
let subscription: ListSubscription;
const taken = (): object[] => {
  const all: object[] = [];
  for (let message = subscription.take(); message !== undefined; message = subscription.take()) all.push(JSON.parse(message) as object);
  return all;
};

beforeEach(() => {
  waiting = 0;
  items = ['{"name":"x"}'];
  const follow = {
    add: () => {},
    remove: () => {},
    get list() {
      return { items, resourceVersion: '7' };
    },
  };
  const holder = {
    wake: () => {},
    mayWait(characters: number) {
      if (characters > 0 && waiting + characters > limit) return false;
      waiting += characters;
      return true;
    },
  };
  subscription = new ListSubscription('key', follow, holder);
  subscription.listed();
  expect(taken()).toEqual([{ key: 'key', type: 'list', items: [{ name: 'x' }], resourceVersion: '7' }]);
});

test('changes that wait are taken in one message', () => {
  for (const name of ['a', 'b', 'c']) subscription.changed(change(name));
  expect(taken()).toMatchObject([
    { type: 'changes', changes: [{ object: { name: 'a' } }, { object: { name: 'b' } }, { object: { name: 'c' } }] },
  ]);
  expect(waiting).toBe(0);
});

test('a tab that falls behind gets a new list instead of all the changes that it missed', () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) subscription.changed(change(name));
  expect(waiting).toBe(0);
  items = ['{"name":"all"}'];
  expect(taken()).toMatchObject([{ type: 'list', items: [{ name: 'all' }] }]);
  subscription.changed(change('f'));
  expect(taken()).toMatchObject([{ type: 'changes' }]);
});

test('a removed key gives its room back', () => {
  subscription.changed(change('a'));
  expect(waiting).toBeGreaterThan(0);
  subscription[Symbol.dispose]();
  expect(waiting).toBe(0);
});
