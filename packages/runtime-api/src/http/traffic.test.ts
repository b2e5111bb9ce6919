import { describe, expect, test } from 'vitest';
import { Traffic } from './traffic.ts';

const limits = { requests: 3, requestsPerToken: 2, bytes: 100, bytesPerToken: 60 };
const problem = expect.objectContaining({ code: 'too_many_requests' });

describe('requests that run at the same time', () => {
  test('are limited for a token and in total, until they end', () => {
    const traffic = new Traffic(limits);
    const first = traffic.begin('a');
    traffic.begin('a');
    expect(() => traffic.begin('a')).toThrow(problem);
    traffic.begin('b');
    expect(() => traffic.begin('c')).toThrow(problem);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(traffic.running).toBe(2);
    traffic.begin('c');
  });

  test('leave when they become streams, but still hold their bytes', () => {
    const traffic = new Traffic(limits);
    const stream = traffic.begin('a');
    stream.take(10);
    stream.leave();
    expect([traffic.running, traffic.held]).toEqual([0, 10]);
    stream[Symbol.dispose]();
    expect([traffic.running, traffic.held]).toEqual([0, 0]);
  });
});

test('bytes are limited for a token and in total, until they are given back', () => {
  const traffic = new Traffic(limits);
  const [one, other] = [traffic.begin('a'), traffic.begin('b')];
  one.take(60);
  expect(() => one.take(1)).toThrow(problem);
  expect(() => other.take(41)).toThrow(problem);
  one[Symbol.dispose]();
  other.take(41);
  expect(traffic.held).toBe(41);
});
