import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { status } from '@capstan/machinery';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { FollowedLog, type FollowedLogOptions, NodeAway } from './followed-log.ts';

const lineAt = (index: number): string => `2030-01-01T00:00:${String(index % 60).padStart(2, '0')}.${index}Z line ${index}\n`;
const linesTo = (count: number): string => Array.from({ length: count }, (_, index) => lineAt(index)).join('');
const textTo = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}\n`).join('');
const pauses = { base: 1, max: 1 };
const notConnected = status.serviceUnavailable('node n1 is not connected');
const away = (): Promise<Readable> => Promise.reject(new NodeAway('away', { cause: notConnected }));

/** A body that breaks after these bytes. */
function broken(bytes: string): Readable {
  return Readable.from(
    (function* () {
      yield Buffer.from(bytes);
      throw new Error('the tunnel broke');
    })(),
  );
}
const whole = (bytes: string): Readable => Readable.from([Buffer.from(bytes)]);

const follow = (options: Partial<FollowedLogOptions>, query = ''): FollowedLog =>
  new FollowedLog({
    query: new URLSearchParams(query),
    signal: new AbortController().signal,
    ask: away,
    stored: async () => undefined,
    state: () => 'runs',
    pauses,
    ...options,
  });

/** The lines that begin at the time that is asked for, as a node sends them. */
const since = (all: string, query: Pick<URLSearchParams, 'get'>): string => {
  const from = query.get('sinceTime');
  return all
    .split(/(?<=\n)/)
    .filter((line) => from === null || line.slice(0, 19) >= from.slice(0, 19))
    .join('');
};

describe('a log that is followed', () => {
  test('ends when the node says so', async () => {
    const log = follow({ ask: async () => whole(linesTo(3)) });
    expect(await text(await log.open())).toBe(textTo(3));
    expect(log.isAway).toBe(false);
  });

  test('goes on from the stored part when the node is back, with the options of the client only at first', async () => {
    const asked: string[] = [];
    const nodes = [away, away, async () => whole(linesTo(5))];
    const log = follow(
      {
        ask: (query) => {
          asked.push(query.toString());
          return nodes.shift()!();
        },
        stored: async () => whole(linesTo(3).slice(0, -4)),
      },
      'follow=true&tailLines=9&awaitStart=true',
    );
    const body = await log.open();
    expect(log.isAway).toBe(true);
    expect(await text(body)).toBe(textTo(5));
    expect(asked).toEqual([
      'follow=true&timestamps=true&awaitStart=true&tailLines=9',
      'follow=true&timestamps=true&sinceTime=2030-01-01T00%3A00%3A02Z',
      'follow=true&timestamps=true&sinceTime=2030-01-01T00%3A00%3A02Z',
    ]);
  });

  test('waits for a node that has sent nothing yet, and not for one that knows nothing of the program', async () => {
    const nodes = [away, async () => whole(linesTo(1))];
    expect(await text(await follow({ ask: () => nodes.shift()!() }).open())).toBe(textTo(1));
    const unknown = status.notFound({ group: '', resource: 'pods' }, 'train');
    await expect(follow({ ask: () => Promise.reject(unknown) }).open()).rejects.toBe(unknown);
    await expect(follow({ state: () => 'ended' }).open()).rejects.toBe(notConnected);
  });

  test.each(['ended', 'elsewhere'] as const)('ends with the stored rest if the program has %s while the node is away', async (state) => {
    const nodes = [async () => broken(linesTo(2))];
    const log = follow({ ask: () => (nodes.shift() ?? away)(), stored: async () => whole(linesTo(4)), state: () => state });
    expect(await text(await log.open())).toBe(textTo(4));
  });

  test('never asks a node for a program that is elsewhere by now', async () => {
    let asked = 0;
    const ask = async (): Promise<Readable> => (asked++ === 0 ? broken(linesTo(1)) : whole('2030-01-01T00:00:00.9Z another program\n'));
    expect(await text(await follow({ ask, state: () => 'elsewhere' }).open())).toBe(textTo(1));
    expect(asked).toBe(1);
  });

  test('keeps times and counts bytes as the client wants', async () => {
    const parts = (): Promise<Readable>[] => [Promise.resolve(broken(linesTo(2))), Promise.resolve(whole(linesTo(9)))];
    const [timed, limited] = [parts(), parts()];
    expect(await text(await follow({ ask: () => timed.shift()! }, 'timestamps=true').open())).toBe(linesTo(9));
    expect(await text(await follow({ ask: () => limited.shift()! }, 'limitBytes=20').open())).toBe(textTo(9).slice(0, 20));
  });

  test('lets go of the stored part if the client has left before it could be sent', async () => {
    const stored = whole(linesTo(1));
    const body = await follow({ stored: async () => stored }).open();
    body.destroy();
    await vi.waitFor(() => expect(stored.destroyed).toBe(true));
  });

  test('ends when the client leaves while the node is away', async () => {
    const client = new AbortController();
    const log = follow({ signal: client.signal, stored: async () => whole(linesTo(1)), pauses: { base: 60_000, max: 60_000 } });
    const body = await log.open();
    const read = text(body);
    client.abort();
    expect(await read).toBe(textTo(1));
  });

  test('wherever the node is lost, has each line once', async () => {
    const outage = fc.record({ sent: fc.nat(400), kept: fc.nat(40), tries: fc.nat(2) });
    await fc.assert(
      fc.asyncProperty(fc.array(outage, { maxLength: 5 }), fc.nat(20), async (outages, stored) => {
        const left = outages.flatMap(({ sent, tries }) => [sent, ...Array<number>(tries).fill(-1)]);
        const ask = async (query: Pick<URLSearchParams, 'get'>): Promise<Readable> => {
          const sent = left.shift();
          if (sent === -1) return away();
          const all = since(linesTo(40), query);
          return sent === undefined ? whole(all) : broken(all.slice(0, sent));
        };
        const log = follow({ ask, stored: async (query) => whole(since(linesTo(stored), query)) });
        expect(await text(await log.open())).toBe(textTo(40));
      }),
      { numRuns: 100 },
    );
  });
});
