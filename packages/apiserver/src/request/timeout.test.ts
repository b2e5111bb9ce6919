import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../testing/harness.ts';
import { requestTimeout } from './timeout.ts';

describe('a timeout in the URL', () => {
  test.each(['', '0', '0s', '5s', '-1s', '+1.5h', '1h30m', '.5s', '100h', '3µs'])('may be %j', (text) => {
    expect(() => requestTimeout(text)).not.toThrow();
  });

  test.each([
    ['', undefined],
    ['0s', undefined],
    ['-1s', undefined],
    ['1ns', 1e-6],
    ['1.5s', 1500],
    ['1m', 60_000],
    ['1h30m', 60_000],
  ])('%j means %j milliseconds', (text, expected) => {
    expect(requestTimeout(text)).toBe(expected);
  });

  test.each([
    ['invalid', 'invalid duration "invalid"'],
    ['5', 'missing unit in duration "5"'],
    ['5x', 'unknown unit "x" in duration "5x"'],
    ['1h5', 'missing unit in duration "1h5"'],
    ['-', 'invalid duration "-"'],
    ['.', 'invalid duration "."'],
    ['1s ', 'unknown unit "s " in duration "1s "'],
  ])('is rejected when it is %j', (text, why) => {
    expect(() => requestTimeout(text)).toThrow(`invalid timeout specified in the request URL - time: ${why}`);
  });
});

describe('a request that takes longer than its timeout', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('gets a Timeout response', async () => {
    const reply = await server.call('/api/v1/namespaces?timeout=1ns');
    expect([reply.code, reply.json().reason]).toEqual([504, 'Timeout']);
    expect((await server.call('/api/v1/namespaces?timeout=30s')).code).toBe(200);
  });
});
