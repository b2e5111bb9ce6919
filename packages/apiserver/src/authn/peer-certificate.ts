import type { TLSSocket } from 'node:tls';

const known = new WeakMap<TLSSocket, Buffer | undefined>();

/** The certificate that the client of a connection showed, in DER. Asking TLS for it is slow, so it is asked once per connection. */
export function peerCertificate(socket: TLSSocket): Buffer | undefined {
  if (known.has(socket)) return known.get(socket);
  const raw = socket.getPeerX509Certificate()?.raw;
  known.set(socket, raw);
  return raw;
}
