import type { Readable, Writable } from 'node:stream';
import { Connection, type ConnectionHandlers } from './connection/connection.ts';
import type { HostKey } from './host-key.ts';
import { Transport } from './transport/transport.ts';

export interface SshServerOptions extends ConnectionHandlers {
  readonly input: Readable;
  readonly output: Writable;
  readonly hostKey: HostKey;
  /** The name of this program, without spaces and minus signs. */
  readonly software: string;
}

/** Serves one client on a pair of streams. Settles when the client has left, and rejects if it broke the protocol. */
export function serveSsh({ input, output, hostKey, software, ...handlers }: SshServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const transport = new Transport({
      input,
      output,
      hostKey,
      software,
      onMessage: (payload) => connection.handle(payload),
      onDrain: () => connection.drained(),
      onEnd: (error) => {
        connection.close();
        if (error === undefined) resolve();
        else reject(error);
      },
    });
    const connection = new Connection(transport, handlers);
  });
}
