import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ForwardedConnection } from './pairs.ts';

/** Connects one forwarded connection with a stream to its port until both are closed. Each direction ends by itself. */
export async function joinConnection(
  { data, error }: Pick<ForwardedConnection, 'data' | 'error'>,
  open: () => Promise<Duplex>,
): Promise<void> {
  try {
    const port = await open();
    port.on('error', () => {});
    data.on('close', () => port.destroy());
    data.pipe(port);
    port.pipe(data);
    const [, failed] = await Promise.allSettled([finished(data), finished(port)]);
    if (failed.status === 'rejected' && !data.destroyed) throw failed.reason;
    error.end();
  } catch (failure) {
    error.end(failure instanceof Error ? failure.message : String(failure));
    data.end();
    data.resume();
  }
}
