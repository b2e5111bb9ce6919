import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { checkChange, checkData, checkHost, checkUpgrade, type Site } from './origin.ts';

const site: Site = { secure: false, names: ['console.example.com'] };
const secureSite: Site = { ...site, secure: true };
const own = { host: '127.0.0.1:6445', origin: 'http://127.0.0.1:6445' };
const header = { 'x-capstan-console': '1' };

const request = (headers: object, method = 'POST'): IncomingMessage => ({ method, headers }) as IncomingMessage;
const passes = (check: () => void): boolean => {
  try {
    check();
    return true;
  } catch {
    return false;
  }
};

describe('the host', () => {
  test.each([
    ['127.0.0.1:6445', true],
    ['127.0.0.1', true],
    ['[::1]:6445', true],
    ['localhost:9000', true],
    ['LOCALHOST', true],
    ['10.0.0.7:6445', true],
    ['console.example.com', true],
    ['Console.Example.com.:443', true],
    ['evil.example', false],
    ['127.0.0.1.evil.example:6445', false],
    ['localhost.evil.example', false],
    ['console.example.com@evil.example', false],
    ['evil.example:6445:1', false],
    ['127.0.0.1:6445/x', false],
    ['', false],
  ])('%j is accepted: %j', (host, expected) => {
    expect(passes(() => checkHost(request({ host }), site))).toBe(expected);
  });
});

/** Headers of requests, and whether they may change something, open a WebSocket and read. */
const cases: readonly (readonly [string, object, readonly [change: boolean, upgrade: boolean, read: boolean]])[] = [
  ['a page of the console', { ...own, ...header, 'sec-fetch-site': 'same-origin' }, [true, true, true]],
  ['a browser without Sec-Fetch-Site', { ...own, ...header }, [true, true, true]],
  ['a form of the console itself', { ...own, 'sec-fetch-site': 'same-origin' }, [false, true, true]],
  ['a page of another site', { ...own, ...header, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, [false, false, false]],
  ['a page on another port', { ...own, ...header, origin: 'http://127.0.0.1:9999', 'sec-fetch-site': 'same-site' }, [false, false, false]],
  ['a sandboxed page', { ...own, ...header, origin: 'null' }, [false, false, false]],
  ['a page over https', { ...own, ...header, origin: 'https://127.0.0.1:6445' }, [false, false, false]],
  ['an old browser on another page', { host: own.host, ...header }, [false, false, true]],
  ['a link on another site', { host: own.host, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }, [false, false, false]],
  ['the address bar', { host: own.host, 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' }, [false, false, false]],
  ['a frame of the console', { host: own.host, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'iframe' }, [false, false, false]],
  [
    'a script element of the console',
    { host: own.host, 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'script' },
    [false, false, false],
  ],
];

test.each(cases)('%s', (_who, headers, expected) => {
  expect([
    passes(() => checkChange(request(headers), site)),
    passes(() => checkUpgrade(request(headers, 'GET'), site)),
    passes(() => checkData(request(headers, 'GET'), site)),
  ]).toEqual(expected);
  // To data, a request that changes something is one like any other.
  expect(passes(() => checkData(request(headers, 'DELETE'), site))).toBe(expected[0]);
});

test('over https, the origin is that of https', () => {
  const headers = { host: 'console.example.com', ...header };
  expect(passes(() => checkChange(request({ ...headers, origin: 'https://console.example.com' }), secureSite))).toBe(true);
  expect(passes(() => checkChange(request({ ...headers, origin: 'http://console.example.com' }), secureSite))).toBe(false);
});
