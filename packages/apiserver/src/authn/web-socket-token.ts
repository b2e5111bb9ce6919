import type { IncomingHttpHeaders } from 'node:http';
import { Unauthenticated } from './user.ts';

const prefix = 'base64url.bearer.authorization.k8s.io.';

/**
 * Takes the bearer token out of the subprotocols of a WebSocket: browsers cannot send an Authorization header with one. The protocol is
 * removed from the headers, so that it is neither confirmed to the client nor passed on. Returns a value for the Authorization header.
 */
export function takeWebSocketToken(headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol'];
  if (offered === undefined || !offered.includes(prefix)) return undefined;
  const protocols = offered.split(',').map((one) => one.trim());
  const others = protocols.filter((one) => !one.startsWith(prefix));
  headers['sec-websocket-protocol'] = others.join(', ');
  const [encoded, ...more] = protocols.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
  if (encoded === undefined) return undefined;
  if (more.length > 0) throw new Unauthenticated('a WebSocket may offer only one protocol with a token');
  if (others.length === 0) throw new Unauthenticated('a WebSocket that offers a protocol with a token must offer another one to be used');
  const token = Buffer.from(encoded, 'base64url').toString();
  if (encoded === '' || Buffer.from(token).toString('base64url') !== encoded)
    throw new Unauthenticated('the token in the protocols of a WebSocket is not base64url without padding');
  return `Bearer ${token}`;
}
