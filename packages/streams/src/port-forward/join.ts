import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ForwardedConnection } from './pairs.ts';

/** Connects one forwarded connection with a stream to its port until both are closed. Each direction ends by itself. */
export async function joinConnection(
  { data, error }: Pick<ForwardedConnection, 'data' | 'error'>,
  open: () => Promise<Duplex>,
): Promise<void> {
  let failure: unknown;
  try {
    const port = await open();
    port.on('error', (reason) => (failure = reason));
    data.on('close', () => port.destroy());
    port.on('close', () => {
      if (!data.writableEnded) data.end();
      data.resume();
    });
    data.pipe(port);
    port.pipe(data);
    // `finished` takes an HTTP/2 stream for closed as soon as its peer has sent everything.
    await Promise.all([data, port].filter(({ destroyed }) => !destroyed).map((stream) => once(stream, 'close')));
  } catch (reason) {
    failure = reason;
    data.end();
    data.resume();
  }
  error.end(failure === undefined ? undefined : textOf(failure));
}

const textOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure));
