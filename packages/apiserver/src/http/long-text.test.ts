import { expect, test } from 'vitest';
import type { Exchange } from './exchange.ts';
import { sendLong } from './long-text.ts';

test('holds nothing for a client that left while its request waited', async () => {
  let held = 0;
  const unsent = { take: (bytes: number) => (held += bytes) > 0, give: (bytes: number) => void (held -= bytes) };
  const client = { tenant: '/a', mostConnections: 1, unsent, turn: () => Promise.resolve(), alone: <T>(work: () => Promise<T>) => work() };
  const left = { closed: true, client, headers: {}, onClose: () => {} } as unknown as Exchange;
  await sendLong(left, { type: 'application/json', pieces: ['x'], mayFail: false, sourceBytes: 8 });
  expect(held).toBe(0);
});
