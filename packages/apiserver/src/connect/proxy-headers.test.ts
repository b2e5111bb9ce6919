import { describe, expect, test } from 'vitest';
import type { Exchange } from '../http/exchange.ts';
import { proxiedHeaders, returnedHeaders, rewriteLocation } from './proxy-headers.ts';

function exchange(rawHeaders: string[], more: Partial<Exchange> = {}): Exchange {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers[rawHeaders[at]!.toLowerCase()] = rawHeaders[at + 1]!;
  return { method: 'GET', rawHeaders, headers, remoteAddress: '192.0.2.7', upgradeTo: undefined, ...more } as Exchange;
}

describe('the headers for a target', () => {
  test('lack those of the connection, also under other spellings, and those that identify the client', () => {
    const own = ['Authorization', 'authorization', 'Impersonate-User', 'Impersonate_User', 'X-Remote-Group', 'x_remote_user'];
    const ofConnection = ['Connection', 'X-Hop', 'X-Hop', '1', 'TE', 'trailers', 'Keep-Alive', '5', 'Proxy-Authorization', 'x'];
    const sent = proxiedHeaders(exchange([...own.flatMap((name) => [name, 'x']), ...ofConnection, 'Accept', '*/*', 'Cookie', 'a=b']), '/p');
    expect(sent).toEqual([
      ...['Accept', '*/*', 'Cookie', 'a=b'],
      ...['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Uri', '/p'],
    ]);
  });

  test('name the protocol to switch to, and the subprotocols that authentication left', () => {
    const raw = ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Protocol', 'secret, mine', 'Sec-WebSocket-Key', 'k'];
    const one = exchange(raw, { upgradeTo: 'websocket' });
    one.headers['sec-websocket-protocol'] = 'mine';
    expect(proxiedHeaders(one, '/').slice(0, 8)).toEqual([
      ...['Sec-WebSocket-Key', 'k', 'Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Protocol', 'mine'],
    ]);
  });
});

test('the headers for a client lack those of the connection to the target', () => {
  const raw = [
    'Connection',
    'x-hop',
    'X-Hop',
    '1',
    'Access-Control-Allow-Origin',
    '*',
    'Transfer-Encoding',
    'chunked',
    'ETag',
    'e',
    'Location',
    '/l',
  ];
  expect(returnedHeaders(raw, (location) => `/proxy${location}`)).toEqual([
    ['ETag', 'e'],
    ['Location', '/proxy/l'],
  ]);
});

describe('a redirect', () => {
  const place = { origin: 'http://10.0.0.1:80', path: '/a/b', prefix: '/api/v1/namespaces/d/pods/p/proxy' };
  test.each([
    ['/login?x=1#y', '/api/v1/namespaces/d/pods/p/proxy/login?x=1#y'],
    ['c', '/api/v1/namespaces/d/pods/p/proxy/a/c'],
    ['http://10.0.0.1/z', 'http://10.0.0.1/z'],
    ['https://example.com/z', 'https://example.com/z'],
    ['//evil.example/z', '//evil.example/z'],
  ])('to %s becomes %s', (location, rewritten) => {
    expect(rewriteLocation(location, { ...place, origin: 'http://10.0.0.1:8080' })).toBe(rewritten);
  });

  test('to the target by its full address leads through the proxy', () => {
    expect(rewriteLocation('http://10.0.0.1:8080/z', { ...place, origin: 'http://10.0.0.1:8080' })).toBe(`${place.prefix}/z`);
  });
});
