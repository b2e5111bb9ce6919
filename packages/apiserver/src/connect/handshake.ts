import { StatusError, status } from '@capstan/machinery';
import { acceptWebSocket, isHandshake, SpdyConnection, type SpdyStream } from '@capstan/streams';
import type { Exchange } from '../http/exchange.ts';
import { switchProtocols } from '../http/upgrade-exchange.ts';
import type { OpenStream } from './open-streams.ts';

type WebSocket = NonNullable<ReturnType<typeof acceptWebSocket>>;

const goingAway = 1001;
/** The streams that a client of SPDY may have open: its channels, or the connections of a port-forward. */
const mostStreams = 1_000;

/** The subprotocols that a WebSocket client offers. */
export function offeredProtocols({ headers }: Exchange): string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

/** Whether the client asks for a WebSocket. Rejects an incomplete handshake. */
export function wantsWebSocket({ upgradeTo, method, headers }: Exchange): boolean {
  if (upgradeTo !== 'websocket') return false;
  if (!isHandshake({ method, headers }))
    throw status.badRequest('expected a WebSocket handshake: GET with Sec-WebSocket-Version 13 and a Sec-WebSocket-Key');
  return true;
}

/** Completes the handshake of a WebSocket, which is closed when the server stops. Undefined if the client is gone. */
export function openWebSocket(stream: OpenStream, options: { protocol: string; longestMessage: number }): WebSocket | undefined {
  const webSocket = acceptWebSocket(stream.exchange.upgrade(), options);
  stream.goAway = () => webSocket?.close(goingAway);
  return webSocket;
}

/** The first protocol of the client that the server supports. Answers as Kubernetes does if there is none. */
export function negotiateSpdy(exchange: Exchange, supported: readonly string[]): string {
  const offered = [exchange.headers['x-stream-protocol-version'] ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((one) => one.trim());
  if (offered.length === 0) return supported.at(-1)!;
  const chosen = offered.find((one) => supported.includes(one));
  if (chosen !== undefined) return chosen;
  for (const one of supported) exchange.header('X-Accepted-Stream-Protocol-Versions', one);
  const message = `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${supported.join(' ')}]`;
  throw new StatusError({ code: 403, reason: 'Forbidden', message });
}

/** Switches a client to SPDY, as its server. */
export function openSpdy(stream: OpenStream, protocol: string, onStream: (opened: SpdyStream) => void): SpdyConnection {
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'X-Stream-Protocol-Version', protocol];
  const socket = switchProtocols(stream.exchange.upgrade(), headers);
  const connection = new SpdyConnection(socket, { role: 'server', onStream, limits: { streams: mostStreams } });
  stream.goAway = () => connection.close();
  return connection;
}
