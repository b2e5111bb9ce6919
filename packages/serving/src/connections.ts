import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface ConnectionLimits {
  /** Open connections from one address. */
  readonly perAddress: number;
  readonly overall: number;
}

/** Closes connections beyond the limits as soon as they are opened. Returns the number of open ones. */
export function limitConnections(server: Server, { perAddress, overall }: ConnectionLimits): () => number {
  const open = new Map<string, number>();
  let total = 0;
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = (open.get(address) ?? 0) + 1;
    if (own > perAddress || total >= overall) {
      socket.destroy();
      return;
    }
    open.set(address, own);
    total++;
    socket.once('close', () => {
      total--;
      const left = (open.get(address) ?? 1) - 1;
      if (left > 0) open.set(address, left);
      else open.delete(address);
    });
  });
  return () => total;
}
