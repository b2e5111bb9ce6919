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

/** Reads a body up to the limit. */
export function readBody(incoming: IncomingMessage, limit: number): Promise<string> {
  const tooLarge = (): BodyFault => new BodyFault('too-large', `Expected a body of at most ${limit} bytes.`);
  const incomplete = (): BodyFault => new BodyFault('incomplete', 'The body was not sent completely.');
  if (Number(incoming.headers['content-length'] ?? 0) > limit) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        incoming.removeAllListeners('data').pause();
        reject(tooLarge());
      } else chunks.push(chunk);
    });
    incoming.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    incoming.on('error', () => reject(incomplete()));
    incoming.on('close', () => {
      if (!incoming.readableEnded) reject(incomplete());
    });
  });
}
