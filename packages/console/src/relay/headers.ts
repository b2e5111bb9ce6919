import type { IncomingHttpHeaders } from 'node:http';

/** Headers of requests that pass. Everything else stays here: credentials that a browser sends by itself, impersonation, addresses of proxies. */
const passingRequest = ['accept', 'accept-encoding', 'content-type', 'content-length', 'if-match', 'if-none-match', 'idempotency-key'];
/** Headers of answers that pass: no cookies, no redirects, no permission for other origins. */
const passingResponse = [
  'content-type',
  'content-length',
  'content-encoding',
  'etag',
  'last-modified',
  'retry-after',
  'warning',
  'audit-id',
];
/** Headers of a WebSocket handshake that pass besides. */
const passingHandshake = ['sec-websocket-key', 'sec-websocket-version'];
/** The API server accepts a token in a subprotocol. */
const tokenProtocol = 'base64url.bearer.authorization.k8s.io.';

type Headers = Record<string, string>;

export function requestHeaders(headers: IncomingHttpHeaders, authorization: string): Headers {
  return { ...only(headers, passingRequest), authorization, 'user-agent': 'capstan-console' };
}

export function responseHeaders(headers: IncomingHttpHeaders): Headers {
  return only(headers, passingResponse);
}

export function handshakeHeaders(headers: IncomingHttpHeaders, authorization: string): Headers {
  const protocols = (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '' && !one.startsWith(tokenProtocol));
  return {
    ...only(headers, passingHandshake),
    ...(protocols.length > 0 && { 'sec-websocket-protocol': protocols.join(', ') }),
    connection: 'Upgrade',
    upgrade: 'websocket',
    authorization,
    'user-agent': 'capstan-console',
  };
}

function only(headers: IncomingHttpHeaders, names: readonly string[]): Headers {
  const kept: Headers = {};
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string') kept[name] = value;
  }
  return kept;
}
