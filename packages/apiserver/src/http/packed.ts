import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import type { Exchange } from './exchange.ts';
import type { PackedDocument } from './packing.ts';
import { gzipAbove } from './reply.ts';

const unpack = promisify(gunzip);
/** Longer documents are sent in pieces: encrypting one at once would block other requests. */
const wholeUpTo = 1 << 20;
const mostWaiting = 1 << 20;

/** Sends a document that is already compressed. Decompresses it for clients that do not accept that. */
export async function sendPacked(exchange: Exchange, type: string, { packed, length }: PackedDocument): Promise<void> {
  if (length > gzipAbove && (exchange.headers['accept-encoding'] ?? '').includes('gzip')) {
    exchange.header('Content-Encoding', 'gzip');
    exchange.header('Vary', 'Accept-Encoding');
    return exchange.send({ code: 200, type, body: packed });
  }
  if (length <= wholeUpTo || exchange.method === 'HEAD') return exchange.send({ code: 200, type, body: await unpack(packed) });
  await sendPieces(exchange, type, packed);
}

async function sendPieces(exchange: Exchange, type: string, packed: Buffer): Promise<void> {
  let isGone = false;
  let resume: (() => void) | undefined;
  exchange.onClose(() => {
    isGone = true;
    resume?.();
  });
  const answer = exchange.stream(200, type);
  const pieces = createGunzip({ chunkSize: 256 << 10 });
  pieces.end(packed);
  for await (const piece of pieces) {
    if (isGone) return;
    answer.write(piece as Buffer);
    if (answer.pending <= mostWaiting) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    resume = resolve;
    answer.onDrain(resolve);
    await promise;
  }
  answer.end();
}
