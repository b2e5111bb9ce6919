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

test('waits for turns while it makes short pieces that take long', async () => {
  let turns = 0;
  let sent = '';
  const turn = (): Promise<void> => Promise.resolve(void turns++);
  const unsent = { take: () => true, give: () => {} };
  const client = { tenant: '/a', mostConnections: 1, unsent, turn, alone: <T>(work: () => Promise<T>) => work() };
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const stream = { write: (chunk: string) => void (sent += chunk), pending: 0, end, abort: end, onDrain: () => {} };
  const exchange = { closed: false, answered: false, client, headers: {}, onClose: () => {}, stream: () => stream } as unknown as Exchange;
  const pieces = (function* () {
    for (let piece = 0; piece < 100; piece++) {
      const until = performance.now() + 0.5;
      while (performance.now() < until);
      yield 'x';
    }
  })();
  await sendLong(exchange, { type: 'application/json', pieces, mayFail: false, sourceBytes: 8 });
  await ended;
  expect(sent).toBe('x'.repeat(100));
  expect(turns).toBeGreaterThan(8);
});
