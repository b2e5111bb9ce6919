import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { defaultTimeouts } from './connection.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { affordableSockets, ownLimit } from './descriptors.ts';
import { Sockets } from './sockets.ts';
import { sourceOf } from './source.ts';

describe('the source of a connection', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:ffff::2', '2001:db8:0:0::/64'],
    ['2001:0db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ])('%j is %s', (address, source) => expect(sourceOf(address)).toBe(source));
});

describe('the sockets that the process can afford', () => {
  test.each([
    [{ limit: 20_000, open: 40 }, 19_448],
    [{ limit: 256, open: 40 }, 152],
    [{ limit: 64, open: 40 }, 1],
    [undefined, Number.POSITIVE_INFINITY],
  ])('with %j are %d', (descriptors, affordable) => expect(affordableSockets(descriptors)).toBe(affordable));

  test('are fewer than its file descriptors', () => {
    expect(new Sockets().most).toBeLessThan(ownLimit()!);
  });

  test('are more when the limit was raised, which is looked at once a second', () => {
    let limit = 256;
    now = 0;
    const sockets = new Sockets({ descriptors: { limit, open: 40 }, limit: () => limit, now: () => now });
    sockets.refresh();
    limit = 20_000;
    sockets.refresh();
    expect(sockets.most).toBe(152);
    now += 1_000;
    sockets.refresh();
    expect([sockets.most, sockets.mostToNodes]).toEqual([19_448, 6_482]);
  });
});

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  destroyed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  resetAndDestroy(): void {
    this.destroy();
  }
}

let now = 0;
let made: Connections | undefined;
afterEach(() => made?.[Symbol.dispose]());

function connections(limits: Partial<ConnectionLimits>): Connections {
  made = new Connections({
    limits: { overall: 10, perAddress: 2, fromLoopback: 10, ...limits },
    // Only the tests trigger checks.
    timeouts: { ...defaultTimeouts, handshake: 1e9, sweep: 1e6 },
    now: () => now,
  });
  return made;
}

const socket = (address: string): FakeSocket & Socket => new FakeSocket(address) as never;

describe('connections', () => {
  test('are limited per address, with a higher limit for loopback', () => {
    const all = connections({});
    const admitted = (address: string): boolean => all.admit(socket(address)) !== undefined;
    expect(['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2'].map(admitted)).toEqual([true, true, false, true]);
    expect(['2001:db8::1', '2001:db8::2', '2001:db8::3'].map(admitted)).toEqual([true, true, false]);
    expect(['127.0.0.1', '127.0.0.1', '127.0.0.1'].map(admitted)).toEqual([true, true, true]);
    expect([all.count, all.ended.get('refused')]).toEqual([8, 2]);
  });

  test('that end make room for others from the same address', () => {
    const all = connections({ perAddress: 1 });
    const first = socket('10.0.0.1');
    all.admit(first);
    first.destroy();
    first.emit('close');
    expect([all.count, all.admit(socket('10.0.0.1'))]).toEqual([0, expect.anything()]);
    expect(all.admit(socket('10.0.0.1'))).toBeUndefined();
  });

  test('displace the oldest unauthenticated connection when there is no room, but not one that has only just arrived', () => {
    const all = connections({ overall: 2 });
    const [known, stranger] = [socket('10.0.0.1'), socket('10.0.0.2')];
    all.admit(known)!.known();
    all.admit(stranger);
    const early = socket('10.0.0.3');
    all.admit(early);
    expect([known.destroyed, stranger.destroyed, early.destroyed]).toEqual([false, false, true]);
    now += 500;
    const second = socket('10.0.0.4');
    all.admit(second);
    expect([known.destroyed, stranger.destroyed, second.destroyed, all.count]).toEqual([false, true, false, 2]);
    const third = socket('10.0.0.5');
    all.admit(third);
    expect([known.destroyed, second.destroyed, third.destroyed]).toEqual([false, false, true]);
    expect([all.ended.get('displaced'), all.ended.get('refused')]).toEqual([1, 2]);
  });

  test('and those of streams to nodes are counted together', () => {
    const sockets = new Sockets({ descriptors: { limit: 69, open: 2 }, limit: () => undefined });
    const all = connections({ sockets, overall: 10, perAddress: 10 });
    const [known, stranger] = [socket('10.0.0.1'), socket('10.0.0.2')];
    all.admit(known)!.known();
    sockets.toNodes = 1;
    all.admit(stranger);
    expect([sockets.most, all.count, stranger.destroyed]).toEqual([3, 2, false]);
    expect([all.makeRoom(), all.admit(socket('10.0.0.3'))]).toEqual([false, undefined]);
    now += 500;
    expect([all.makeRoom(), stranger.destroyed, known.destroyed]).toEqual([true, true, false]);
    sockets.toNodes = 2;
    expect([all.makeRoom(), known.destroyed]).toEqual([false, false]);
    sockets.toNodes = 0;
    expect(all.admit(socket('10.0.0.3'))).toBeDefined();
  });

  test('of one tenant are limited, wherever they come from: the oldest idle one makes room', () => {
    const all = connections({ overall: 100, perAddress: 100 });
    const sockets = Array.from({ length: 4 }, (_, index) => socket(`10.0.0.${index}`));
    const opened = sockets.map((one) => all.admit(one)!);
    for (const one of opened.slice(0, 3)) one.belongsTo('/greedy', 3);
    opened[3]!.belongsTo('/small', 3);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
    const last = socket('10.0.0.9');
    all.admit(last)!.belongsTo('/greedy', 3);
    expect([...sockets, last].map(({ destroyed }) => destroyed)).toEqual([true, false, false, false, false]);
    expect(all.count).toBe(4);
  });

  test('of one tenant are never more than three quarters of all', () => {
    const all = connections({ overall: 4, perAddress: 100 });
    const sockets = Array.from({ length: 4 }, () => socket('10.0.0.1'));
    for (const one of sockets) all.admit(one)!.belongsTo('/greedy', Number.POSITIVE_INFINITY);
    expect(sockets.filter(({ destroyed }) => destroyed)).toHaveLength(1);
  });

  test('are not charged for time in which the process was suspended', () => {
    const all = new Connections({
      limits: { overall: 10, perAddress: 10, fromLoopback: 10 },
      timeouts: { ...defaultTimeouts, handshake: 10_000, sweep: 1_000 },
      now: () => now,
    });
    made = all;
    const waiting = socket('10.0.0.1');
    all.admit(waiting);
    now += 3_600_000;
    all.sweep();
    expect(waiting.destroyed).toBe(false);
    for (let look = 0; look < 10; look++) {
      now += 1_000;
      all.sweep();
    }
    expect(waiting.destroyed).toBe(true);
  });
});
