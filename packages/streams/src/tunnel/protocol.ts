/** Where and how a node agent asks an API server for a tunnel. */
export const tunnelPath = '/capstan/tunnel';
export const tunnelProtocol = 'capstan-tunnel';

export interface TunnelLimits {
  /** Bytes of one stream that may be on their way or unread. */
  readonly streamWindow: number;
  /** The same for all streams together, while they are on their way. */
  readonly sessionWindow: number;
  readonly concurrentStreams: number;
  /** How often the peer is sent a ping, in milliseconds. */
  readonly pingInterval: number;
  /** After so many pings in a row without an answer the peer is dead. More than one, since this process may itself have been suspended. */
  readonly missedPings: number;
  /** How long open streams may go on when the tunnel is closed, in milliseconds. */
  readonly grace: number;
}

export const defaultLimits: TunnelLimits = {
  streamWindow: 1 << 20,
  sessionWindow: 16 << 20,
  concurrentStreams: 1000,
  pingInterval: 10_000,
  missedPings: 3,
  grace: 5_000,
};

/**
 * In a proxied request: the protocol that the client wants to change to. The body of the request is then what the client says afterwards. In the
 * response: the target agreed.
 */
export const upgradeHeader = 'capstan-upgrade';
export const upgradedHeader = 'capstan-upgraded';

/** Headers of a request or response, without those that HTTP/2 itself needs. Repeated ones are joined. */
export function plainHeaders(headers: NodeJS.Dict<string | string[] | number>): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (!name.startsWith(':') && value !== undefined) plain[name] = Array.isArray(value) ? value.join(', ') : String(value);
  return plain;
}

/** Headers that belong to one connection, which HTTP/2 forbids. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'host',
  'te',
]);

/** The headers that may be sent through a tunnel. */
export function sendableHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !ofConnection.has(name.toLowerCase())));
}
