import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

/** An HTTP request to change protocols, and the connection on which it arrived. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** The first bytes after the request. */
  readonly head: Buffer;
  /** More headers for the response: `name, value, name, value…`. */
  readonly headers?: readonly string[];
}

export interface WebSocketOptions {
  /** The subprotocol to confirm; empty for none. */
  readonly protocol: string;
  /** Longer messages close the connection. */
  readonly longestMessage: number;
}

/** How long a peer may take to answer a close, in milliseconds. */
const closeTimeout = 5_000;

/** The connections of accepted WebSockets. */
const sockets = new WeakMap<WebSocket, Duplex>();

/** The connection below a WebSocket that was accepted here; undefined for others. */
export function socketOf(webSocket: WebSocket): Duplex | undefined {
  return sockets.get(webSocket);
}

/** Whether a request is a complete WebSocket handshake. */
export function isHandshake({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const key = headers['sec-websocket-key'] ?? '';
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[+/0-9A-Za-z]{22}==$/.test(key)
  );
}

/** Completes a handshake that `isHandshake` accepts. Undefined if the client is gone. */
export function acceptWebSocket({ request, socket, head, headers = [] }: UpgradeRequest, options: WebSocketOptions): WebSocket | undefined {
  const { protocol, longestMessage } = options;
  const settings = {
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: longestMessage,
    skipUTF8Validation: true,
    closeTimeout,
  };
  const server = new WebSocketServer(settings);
  server.on('headers', (lines) => {
    if (protocol !== '') lines.push(`Sec-WebSocket-Protocol: ${protocol}`);
    for (let at = 0; at + 1 < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  });
  let accepted: WebSocket | undefined;
  server.handleUpgrade(withoutProtocols(request), socket, head, (webSocket) => {
    accepted = webSocket;
    sockets.set(webSocket, socket);
  });
  return accepted;
}

/** Kubernetes' names of protocols contain slashes, which the library rejects. The caller has chosen one of them already. */
function withoutProtocols(request: IncomingMessage): IncomingMessage {
  const { 'sec-websocket-protocol': _protocols, ...headers } = request.headers;
  return Object.create(request, { headers: { value: headers } }) as IncomingMessage;
}
