import { PassThrough } from 'node:stream';
import type { TunnelRequest } from '@capstan/streams';
import { expect, test } from 'vitest';
import { parseRoute, type RoutedRequest, routeRequests } from './router.ts';

test.each([
  ['/logs/c/n/p/x', { kind: 'logs', cluster: 'c', namespace: 'n', pod: 'p', container: 'x' }],
  ['/exec/c/n/p/x', { kind: 'exec', cluster: 'c', namespace: 'n', pod: 'p', container: 'x' }],
  ['/attach/c/n/p%2Fq/x', { kind: 'attach', cluster: 'c', namespace: 'n', pod: 'p/q', container: 'x' }],
  ['/portforward/c/n/p', { kind: 'portforward', cluster: 'c', namespace: 'n', pod: 'p' }],
  ['/proxy/c/n/p/80', { kind: 'proxy', cluster: 'c', namespace: 'n', pod: 'p', port: '80', path: '/' }],
  ['/proxy/c/n/p/80/a/b%20c', { kind: 'proxy', cluster: 'c', namespace: 'n', pod: 'p', port: '80', path: '/a/b%20c' }],
  ['/node/a/b', { kind: 'node', path: '/a/b' }],
  ['/node', { kind: 'node', path: '/' }],
  ['/logs/c/n/p', undefined],
  ['/logs/c/n/p/x/y', undefined],
  ['/portforward/c/n/p/80', undefined],
  ['/exec/c//p/x', undefined],
  ['/exec/c/n/%zz/x', undefined],
  ['/', undefined],
  ['/secrets', undefined],
])('%s is %j', (path, route) => {
  expect(parseRoute(path)).toEqual(route);
});

function ask(path: string, method = 'GET'): { request: TunnelRequest; status: () => number } {
  let status = 0;
  const request: TunnelRequest = {
    method,
    path,
    headers: { 'capstan-user': 'ada%20l' },
    body: new PassThrough(),
    signal: new AbortController().signal,
    respond: (code) => {
      status = code;
      return new PassThrough();
    },
  };
  return { request, status: () => status };
}

test('a request reaches its handler with its query and its user', () => {
  let seen: RoutedRequest | undefined;
  const handle = routeRequests({ logs: (request) => void (seen = request) });
  void handle(ask('/logs/c/n/p/x?follow=true&tail=1').request);
  expect([seen?.route.kind, seen?.query.get('tail'), seen?.user]).toEqual(['logs', '1', 'ada l']);
});

test.each([
  ['/unknown', 'GET', 404],
  ['/logs/c/n/p/x', 'POST', 405],
  ['/exec/c/n/p/x', 'GET', 405],
  ['/exec/c/n/p/x', 'POST', 501],
])('%s with %s is answered with %i', (path, method, code) => {
  const { request, status } = ask(path, method);
  void routeRequests({})(request);
  expect(status()).toBe(code);
});
