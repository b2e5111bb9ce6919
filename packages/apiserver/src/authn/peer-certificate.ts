import type { TLSSocket } from 'node:tls';

const known = new WeakMap<TLSSocket, Buffer | undefined>();
const shownOn = new WeakMap<Buffer, TLSSocket>();
/** No legitimate chain is longer. */
const longestChain = 8;

/** The certificate that the client of a connection sent, in DER. Reading it from the TLS socket is slow, so it is cached per connection. */
export function peerCertificate(socket: TLSSocket): Buffer | undefined {
  if (known.has(socket)) return known.get(socket);
  const raw = socket.getPeerX509Certificate()?.raw;
  known.set(socket, raw);
  if (raw !== undefined) shownOn.set(raw, socket);
  return raw;
}

/** The certificates that the client sent after the one returned by `peerCertificate`, in DER: the intermediate authorities. */
export function intermediatesOf(raw: Buffer): Buffer[] {
  const chain: Buffer[] = [];
  let current = shownOn.get(raw)?.getPeerCertificate(true);
  while (current?.issuerCertificate !== undefined && current.issuerCertificate !== current && chain.length < longestChain) {
    current = current.issuerCertificate;
    chain.push(current.raw);
  }
  return chain;
}

/** The connection on which a client sent a certificate that `peerCertificate` returned. */
export const connectionOf = (raw: Buffer): TLSSocket | undefined => shownOn.get(raw);
