import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A line to a server that can be cut once, in the middle of a transfer. */
export interface CutLine extends AsyncDisposable {
  readonly port: number;
  /** Bytes that were carried in both directions since the last `cutAfter`. */
  readonly carried: () => number;
  /** The connection that has carried so many bytes is cut, once. */
  cutAfter(bytes: number): void;
}

export async function startCutLine(target: { readonly host: string; readonly port: number }): Promise<CutLine> {
  const open = new Set<Socket>();
  let carried = 0;
  let limit = Number.POSITIVE_INFINITY;
  const server = createServer((near) => {
    const far = connect(target);
    let count = 0;
    const cut = (): void => {
      near.destroy();
      far.destroy();
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.on('data', (chunk: Buffer) => {
        count += chunk.length;
        carried += chunk.length;
        if (count <= limit) return;
        limit = Number.POSITIVE_INFINITY;
        cut();
      });
      from.on('error', cut).on('close', () => open.delete(from));
      from.pipe(to);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    carried: () => carried,
    cutAfter: (bytes) => {
      carried = 0;
      limit = bytes;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
