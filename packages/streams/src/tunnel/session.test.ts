import { EventEmitter } from 'node:events';
import type { Http2Session } from 'node:http2';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchPeer } from './session.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A session whose pings are answered as long as `answers` is true. */
function watched() {
  const state = { answers: true, pings: 0, isDead: false };
  const connection = { bytesRead: 0 };
  const session = Object.assign(new EventEmitter(), {
    destroyed: false,
    ping: (answer: (error: Error | null) => void) => {
      state.pings++;
      if (!state.answers) return;
      connection.bytesRead += 17;
      answer(null);
    },
    destroy: () => void (state.isDead = true),
  });
  type Watched = Parameters<typeof watchPeer>;
  watchPeer(session as unknown as Http2Session, { pingInterval: 10, missedPings: 2 } as Watched[1], connection as Watched[2]);
  return { connection, state };
}

test('a peer that is silent is sent pings, and is dead if it does not answer some in a row', () => {
  const { state } = watched();
  vi.advanceTimersByTime(50);
  expect(state).toEqual({ answers: true, pings: 5, isDead: false });
  state.answers = false;
  vi.advanceTimersByTime(20);
  expect(state.isDead).toBe(false);
  vi.advanceTimersByTime(10);
  expect(state).toEqual({ answers: false, pings: 7, isDead: true });
});

test('a peer that sends something itself gets no pings until it stops', () => {
  const { connection, state } = watched();
  state.answers = false;
  for (let number = 0; number < 10; number++) {
    connection.bytesRead += 1;
    vi.advanceTimersByTime(10);
  }
  expect(state).toEqual({ answers: false, pings: 0, isDead: false });
  vi.advanceTimersByTime(30);
  expect(state).toEqual({ answers: false, pings: 2, isDead: true });
});
