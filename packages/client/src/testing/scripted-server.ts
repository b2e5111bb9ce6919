import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { fixedCredentials } from '../credentials/credentials.ts';
import type { Connection } from '../kubeconfig/connection.ts';

export interface ScriptedServer extends AsyncDisposable {
  readonly connection: Connection;
  /** `GET /path` of each request so far. */
  readonly requests: string[];
  readonly headers: IncomingMessage['headers'][];
}

/** A server scripted by a test, for situations that a real one shows only in trouble. */
export async function scriptedServer(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<ScriptedServer> {
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    request.resume();
    request.on('end', () => answer(request, response, requests.length));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    connection: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      credentials: fixedCredentials({}),
      namespace: 'default',
    },
    requests,
    headers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** From now on no bytes pass and no connection is closed, as with a pulled cable. New connections are accepted and stay silent, too. */
  stall(): void;
  /** New connections work again; stalled ones stay stalled. */
  heal(): void;
}

/** Forwards bytes to another port of this machine. The port is looked up for each connection: a server may come back elsewhere. */
export async function tcpProxy(target: () => number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let stalled = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => {});
    return socket;
  };
  const server = createTcpServer((incoming) => {
    keep(incoming);
    if (stalled) return;
    const outgoing = keep(connect(target(), '127.0.0.1'));
    incoming.pipe(outgoing);
    outgoing.pipe(incoming);
    // Also if the other end was interrupted rather than closed.
    incoming.on('close', () => outgoing.destroy());
    outgoing.on('close', () => incoming.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      stalled = true;
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    heal() {
      stalled = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
