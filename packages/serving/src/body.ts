import type { IncomingMessage } from 'node:http';

/** A body that was not read completely: it is too large, or its sender stopped. */
export class BodyFault extends Error {
  override readonly name = 'BodyFault';
  readonly fault: 'too-large' | 'incomplete';

  constructor(fault: BodyFault['fault'], message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Counts bytes that are held in memory. Throws if there are too many. */
export interface ByteCount {
  take(bytes: number): void;
}

/** Reads a body up to the limit. Its bytes are counted in the share. */
export function readBody(incoming: IncomingMessage, limit: number, share?: ByteCount): Promise<string> {
  const tooLarge = (): BodyFault => new BodyFault('too-large', `Expected a body of at most ${limit} bytes.`);
  const incomplete = (): BodyFault => new BodyFault('incomplete', 'The body was not sent completely.');
  if (Number(incoming.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > limit) throw tooLarge();
        share?.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        incoming.removeAllListeners('data').pause();
        chunks.length = 0;
        reject(error);
      }
    });
    incoming.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    incoming.on('error', () => reject(incomplete()));
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(incomplete());
    });
  });
}
