import type { Exchange } from '../http/exchange.ts';

/**
 * Headers of one connection, and those that concern only this server: who the client is, and as whom it acts. The length of the body is added by this
 * server, which has checked it.
 */
const own: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...[
    'transfer-encoding',
    'content-length',
    'upgrade',
    'http2-settings',
    'host',
    'expect',
    'authorization',
    'audit-id',
    'sec-websocket-protocol',
  ],
]);
const ownPrefixes = [':', 'x-remote-', 'x-forwarded-', 'impersonate-', 'x-kcp-', 'capstan-'];

/** The headers of a request for the target, as `name, value, name, value…`. Underscores count as dashes, since some servers read them so. */
export function proxiedHeaders(exchange: Exchange, uri: string): string[] {
  const { rawHeaders, headers } = exchange;
  const named = connectionHeaders(rawHeaders);
  const passed: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const read = name.replaceAll('_', '-');
    if (own.has(read) || named.has(name) || ownPrefixes.some((prefix) => read.startsWith(prefix))) continue;
    passed.push(rawHeaders[at]!, rawHeaders[at + 1]!);
  }
  if (exchange.upgradeTo !== undefined) {
    passed.push('Connection', 'Upgrade', 'Upgrade', headers.upgrade!);
    const protocols = headers['sec-websocket-protocol'];
    if (protocols !== undefined) passed.push('Sec-WebSocket-Protocol', protocols);
  } else if (headers['content-length'] !== undefined) passed.push('Content-Length', headers['content-length']);
  // Node sends the body of a GET without any framing otherwise, and the target would take it for the next request.
  else if (exchange.hasBody) passed.push('Transfer-Encoding', 'chunked');
  passed.push('X-Forwarded-For', exchange.remoteAddress, 'X-Forwarded-Proto', 'https', 'X-Forwarded-Uri', uri);
  const host = headers.host ?? headers[':authority'];
  if (typeof host === 'string') passed.push('X-Forwarded-Host', host);
  return passed;
}

const notReturned: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['content-type', 'content-length', 'audit-id', 'strict-transport-security', 'public-key-pins', 'alt-svc'],
]);

/** The headers of a response for the client, without those that belong to one connection or to the server itself. */
export function returnedHeaders(rawHeaders: readonly string[], rewrite: (location: string) => string): [string, string][] {
  const named = connectionHeaders(rawHeaders);
  const returned: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at]!, rawHeaders[at + 1]!];
    const lower = name.toLowerCase();
    if (notReturned.has(lower) || named.has(lower) || lower.startsWith('access-control-')) continue;
    returned.push([name, lower === 'location' ? rewrite(value) : value]);
  }
  return returned;
}

function connectionHeaders(rawHeaders: readonly string[]): ReadonlySet<string> {
  const named = new Set<string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== 'connection') continue;
    for (const name of rawHeaders[at + 1]!.split(',')) named.add(name.trim().toLowerCase());
  }
  return named;
}

/** A redirect of the target to itself leads through the proxy again. Others are left alone. */
export function rewriteLocation(location: string, { origin, path, prefix }: { origin: string; path: string; prefix: string }): string {
  const url = URL.parse(location, `${origin}${path}`);
  if (url === null || url.origin !== origin) return location;
  return `${prefix}${url.pathname}${url.search}${url.hash}`;
}
