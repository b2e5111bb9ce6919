import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** In milliseconds: how long requests may take to end when a server stops. */
const stopWithin = 5_000;

/** Listens, and resolves with the port. */
export async function listen(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Accepts no more requests, and closes the connections of those that do not end in time. */
export function stopListening(server: Server, within = stopWithin): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), within);
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
