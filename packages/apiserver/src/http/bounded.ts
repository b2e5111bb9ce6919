import type { IncomingMessage } from 'node:http';

/** The body of an answer from somebody who may send without end. Cuts the connection at the limit, and throws. */
export async function readBounded(incoming: IncomingMessage, limit: number, what = 'the answer'): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) {
      incoming.destroy();
      throw new RangeError(`${what} is larger than ${limit} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
