import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { TunnelError } from './error.ts';
import type { TunnelLimits } from './protocol.ts';

/**
 * Resolves when nothing that was written to a connection is on its way. A session takes over the handle of the connection, and Node aborts the
 * whole process if a write completes that the session did not begin.
 */
export async function settled(socket: Duplex): Promise<void> {
  while (socket.writableLength > 0 && !socket.destroyed) await setImmediate();
  // The write has completed, but the code that completes it may still be running.
  await setImmediate();
  if (socket.destroyed) throw new TunnelError('closed', 'the connection ended before the tunnel began');
}

/**
 * Destroys a session whose peer no longer answers pings. A peer that sends something itself lives, and gets none: an API server with a thousand idle tunnels
 * would do little else.
 */
export function watchPeer(
  session: Http2Session,
  { pingInterval, missedPings }: TunnelLimits,
  connection: Duplex & { readonly bytesRead?: number },
): void {
  let unanswered = 0;
  let heard = connection.bytesRead;
  const timer = setInterval(() => {
    // It closes only after its connection has.
    if (session.destroyed) return clearInterval(timer);
    if (connection.bytesRead !== heard) {
      heard = connection.bytesRead;
      unanswered = 0;
      return;
    }
    if (unanswered >= missedPings) {
      session.destroy(new TunnelError('dead', `the peer of the tunnel did not answer ${unanswered} pings`));
      return;
    }
    unanswered++;
    // The answer to any ping proves that the peer lives, but only pings bring one.
    session.ping((error) => {
      if (error !== null) return;
      unanswered = 0;
      heard = connection.bytesRead;
    });
  }, pingInterval);
  timer.unref();
  session.once('close', () => clearInterval(timer));
}

/** Ends a session: its streams may finish within the grace period. Resolves when it has ended. */
export function endSession(session: Http2Session, grace: number): Promise<void> {
  if (session.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const cut = setTimeout(() => session.destroy(), grace);
    session.once('close', () => {
      clearTimeout(cut);
      resolve();
    });
    if (!session.closed) session.close();
  });
}
