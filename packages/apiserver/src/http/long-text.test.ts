import { expect, test } from 'vitest';
import type { Exchange } from './exchange.ts';
import { sendLong } from './long-text.ts';

test('holds nothing for a client that left while its request waited', async () => {
  let held = 0;
  const unsent = { take: (bytes: number) => (held += bytes) > 0, give: (bytes: number) => void (held -= bytes) };
  const client = {
    tenant: '/a',
    mostConnections: 1,
    unsent,
    turn: () => Promise.resolve(),
    isHeldBack: () => false,
    alone: <T>(work: () => Promise<T>) => work(),
  };
  const left = { closed: true, client, headers: {}, onClose: () => {} } as unknown as Exchange;
  await sendLong(left, { type: 'application/json', pieces: ['x'], mayFail: false, sourceBytes: 8 });
  expect(held).toBe(0);
});

test.each([
  { pieces: 'that take long', mayFail: false, count: 100, each: 0.5, turns: 8 },
  { pieces: 'that are made of large objects', mayFail: true, count: 6, each: 2, turns: 5 },
])('waits for turns while it makes short pieces $pieces', async ({ mayFail, count, each, turns: least }) => {
  let turns = 0;
  let sent = '';
  const turn = (): Promise<void> => Promise.resolve(void turns++);
  const unsent = { take: () => true, give: () => {} };
  const client = { tenant: '/a', mostConnections: 1, unsent, turn, isHeldBack: () => false, alone: <T>(work: () => Promise<T>) => work() };
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const stream = { write: (chunk: string) => void (sent += chunk), pending: 0, end, abort: end, onDrain: () => {} };
  const exchange = { closed: false, answered: false, client, headers: {}, onClose: () => {}, stream: () => stream } as unknown as Exchange;
  const made = (function* () {
    for (let piece = 0; piece < count; piece++) {
      const until = performance.now() + each;
      while (performance.now() < until);
      yield 'x';
    }
  })();
  await sendLong(exchange, { type: 'application/json', pieces: made, mayFail, sourceBytes: 8 });
  await ended;
  expect(sent).toBe('x'.repeat(count));
  expect(turns).toBeGreaterThan(least);
});
