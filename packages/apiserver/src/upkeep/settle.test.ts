import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withPauses } from './settle.ts';

test('others run between two collections', async () => {
  const order: string[] = [];
  const collecting = withPauses(3, () => order.push('collected'));
  const others = (async () => {
    for (let turn = 0; turn < 3; turn++) {
      order.push('others');
      await setImmediate();
    }
  })();
  await Promise.all([collecting, others]);
  expect(order).toEqual(['collected', 'others', 'collected', 'others', 'collected', 'others']);
});
