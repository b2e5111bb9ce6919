import type { IncomingMessage } from 'node:http';

/** Reads the body of a response from a server that may never stop sending. At the limit, closes the connection and throws. */
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
