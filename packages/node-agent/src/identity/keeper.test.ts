import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IdentityKeeper } from './keeper.ts';
import { type Identity, StateDirectory } from './state.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-keeper-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const hour = 3_600_000;
const identity = (issued: number, expires: number): Identity => ({
  node: 'n',
  key: '',
  certificate: '',
  authority: '',
  issuedAt: new Date(issued).toISOString(),
  expiresAt: new Date(expires).toISOString(),
  entry: 'https://127.0.0.1:1',
  servers: [],
  tokenHash: '',
});

/** How often a keeper tries to renew an identity at a time, in its first moments. */
async function attempts(held: Identity, now: number, act: (keeper: IdentityKeeper) => void = () => {}): Promise<number> {
  let count = 0;
  const stop = new AbortController();
  const keeper = new IdentityKeeper(held, {
    state: await StateDirectory.open(directory),
    servers: () => {
      count++;
      return [];
    },
    now: () => new Date(now),
    backoff: { base: 1, max: 1 },
    log: () => {},
    onRenewed: () => {},
  });
  const running = keeper.run(stop.signal);
  act(keeper);
  for (let turn = 0; turn < 10 && count === 0; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  stop.abort();
  await running;
  return count;
}

test.each([
  ['before half of its life', 11 * hour, false],
  ['after half of its life', 13 * hour, true],
  ['after its end', 30 * hour, true],
  ['by a clock that was set back to before it was issued', -hour, true],
])('a certificate is renewed or kept %s', async (_, now, isDue) => {
  expect((await attempts(identity(0, 24 * hour), now)) > 0).toBe(isDue);
});

test('a certificate that had expired before it was issued, by the clock of the machine, is kept for an hour', async () => {
  const ahead = identity(72 * hour, 24 * hour);
  expect(await attempts(ahead, 72 * hour)).toBe(0);
  expect(await attempts(ahead, 73 * hour)).toBeGreaterThan(0);
});

test('a certificate that a server refuses is renewed at once', async () => {
  expect(await attempts(identity(0, 24 * hour), hour, (keeper) => keeper.doubt())).toBeGreaterThan(0);
});
