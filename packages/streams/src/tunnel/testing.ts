import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { dialTunnel } from './dial.ts';

/** A server on the loopback that opens every tunnel it is asked for. */
export interface TestEndpoint extends AsyncDisposable {
  readonly url: string;
  readonly dial: (signal?: AbortSignal) => Promise<Duplex>;
  /** The server's end of the next tunnel. */
  next(): Promise<Duplex>;
  /** Answers further requests for tunnels with this status. */
  refuseWith(status: number | undefined): void;
}

export async function testEndpoint(): Promise<TestEndpoint> {
  // A shared secret, so that no certificate is needed.
  const ciphers = 'PSK-AES128-GCM-SHA256';
  const psk = randomBytes(16);
  const server = createServer({ ciphers, pskCallback: () => psk });
  let refusal: number | undefined;
  const waiting: ((socket: Duplex) => void)[] = [];
  const arrived: Duplex[] = [];
  const sockets = new Set<Duplex>();
  server.on('upgrade', (_request, socket, head) => {
    sockets.add(socket);
    socket.on('error', () => {});
    if (refusal !== undefined) return void socket.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 0\r\n\r\n`);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: capstan-tunnel\r\n\r\n');
    if (head.length > 0) socket.unshift(head);
    const receive = waiting.shift();
    if (receive === undefined) arrived.push(socket);
    else receive(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tls = { ciphers, pskCallback: () => ({ psk, identity: 'test' }), checkServerIdentity: () => undefined };
  return {
    url,
    dial: (signal = new AbortController().signal) => dialTunnel({ url, tls, signal }),
    next: () => {
      const socket = arrived.shift();
      return socket === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(socket);
    },
    refuseWith: (status) => (refusal = status),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
