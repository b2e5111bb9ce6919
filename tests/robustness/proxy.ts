import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that can interrupt its connections. */
export interface Proxy extends AsyncDisposable {
  readonly endpoint: string;
  /** Breaks all connections and rejects new ones. */
  block(): void;
  unblock(): void;
}

export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let blocked = false;
  const server = createServer((near) => {
    if (blocked) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    block() {
      blocked = true;
      cutAll();
    },
    unblock() {
      blocked = false;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      cutAll();
    },
  };
}
