import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Handshakes } from './handshakes.ts';

describe('handshakes', () => {
  it('start at once while few arrive', () => {
    using handshakes = new Handshakes();
    let started = 0;
    expect(handshakes.request('a', () => started++)).toBe(true);
    expect(started).toBe(1);
  });

  it('of a flood start a few in each turn of the event loop, and sources take turns', async () => {
    using handshakes = new Handshakes({ perSecond: 1_000_000, burst: 1_000 });
    const started: string[] = [];
    for (let index = 0; index < 100; index++) handshakes.request('flood', () => started.push('flood'));
    handshakes.request('other', () => started.push('other'));
    expect(started).toEqual(['flood']);
    await setImmediate();
    await setImmediate();
    expect(started.length).toBeLessThan(10);
    expect(started.indexOf('other')).toBeLessThan(4);
    await expect.poll(() => started.length).toBe(101);
    expect(handshakes.waiting).toBe(0);
  });

  it('start only so often', async () => {
    let time = 0;
    using handshakes = new Handshakes({ perSecond: 1_000, burst: 5 }, () => time);
    let started = 0;
    for (let index = 0; index < 20; index++) handshakes.request('a', () => started++);
    await expect.poll(() => started).toBe(5);
    time += 3;
    await expect.poll(() => started).toBe(8);
  });

  it('are refused when too many wait, from one source or in total', () => {
    using handshakes = new Handshakes({ maxWaiting: 5, maxWaitingPerSource: 3 });
    const request = (source: string): boolean => handshakes.request(source, () => {});
    expect([1, 2, 3, 4, 5].map(() => request('a'))).toEqual([true, true, true, true, false]);
    expect([1, 2, 3].map(() => request('b'))).toEqual([true, true, false]);
  });
});
