import { expect, test } from 'vitest';
import { nextTurn } from './next-turn.ts';

test('one operation runs in each turn of the event loop, so that others run between any two', async () => {
  const order: string[] = [];
  const operations = ['a', 'b', 'c'].map((name) => nextTurn().then(() => order.push(name)));
  const others = (async () => {
    for (let turn = 0; turn < 3; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      order.push('others');
    }
  })();
  await Promise.all([...operations, others]);
  expect(order.indexOf('b') - order.indexOf('a')).toBeGreaterThan(1);
  expect(order.indexOf('c') - order.indexOf('b')).toBeGreaterThan(1);
});
