import { expect, test } from 'vitest';
import { handshakeHeaders, requestHeaders, responseHeaders } from './headers.ts';

test('a request carries the token of the session and nothing that the browser chose, but for its content', () => {
  const headers = requestHeaders(
    {
      authorization: 'Bearer of-the-browser',
      cookie: 'capstan-console-6445=x',
      host: 'evil.example',
      origin: 'http://127.0.0.1:6445',
      referer: 'http://127.0.0.1:6445/x',
      'impersonate-user': 'system:admin',
      'impersonate-group': 'system:masters',
      'impersonate-extra-x': 'y',
      'x-remote-user': 'admin',
      'x-forwarded-for': '1.2.3.4',
      'x-capstan-console': '1',
      'user-agent': 'Browser',
      connection: 'keep-alive, x-secret',
      'content-type': 'application/merge-patch+json',
      'content-length': '2',
      accept: 'application/json',
      'if-match': '"1"',
      'idempotency-key': 'k',
    },
    'Bearer of-the-session',
  );
  expect(headers).toEqual({
    authorization: 'Bearer of-the-session',
    'user-agent': 'capstan-console',
    'content-type': 'application/merge-patch+json',
    'content-length': '2',
    accept: 'application/json',
    'if-match': '"1"',
    'idempotency-key': 'k',
  });
});

test('an answer sets no cookies, leads nowhere and is open to no other origin', () => {
  const headers = responseHeaders({
    'content-type': 'application/json',
    'set-cookie': ['a=b'],
    location: 'https://evil.example',
    'access-control-allow-origin': '*',
    'content-security-policy': 'default-src *',
    'www-authenticate': 'Basic',
    refresh: '0;url=https://evil.example',
    'transfer-encoding': 'chunked',
    warning: '299 - "old"',
  });
  expect(headers).toEqual({ 'content-type': 'application/json', warning: '299 - "old"' });
});

test('a handshake carries the protocols that the page offers, but no token among them', () => {
  const offered = 'base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io';
  const headers = handshakeHeaders(
    { 'sec-websocket-key': 'k', 'sec-websocket-version': '13', 'sec-websocket-protocol': offered, cookie: 'x', authorization: 'Bearer b' },
    'Bearer of-the-session',
  );
  expect(headers).toEqual({
    'sec-websocket-key': 'k',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
    connection: 'Upgrade',
    upgrade: 'websocket',
    authorization: 'Bearer of-the-session',
    'user-agent': 'capstan-console',
  });
});
