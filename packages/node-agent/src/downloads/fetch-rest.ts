import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { ConnectionOptions } from 'node:tls';

export interface Fetch {
  /** Bytes that are in the file already. */
  readonly from: number;
  readonly tls: ConnectionOptions;
  /** The ETag of the file at the server. Another one is downloaded from its beginning. */
  readonly tag: string;
  readonly signal: AbortSignal;
  /** In milliseconds: a server that sends nothing for so long is given up. */
  readonly silence?: number;
}

/** The server refuses the download. */
export class RefusedDownload extends Error {
  override readonly name = 'RefusedDownload';
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** Downloads the rest of a file of an API server. Everything that has arrived is in the file if this rejects. */
export async function fetchRest(url: URL, file: string, { from, tls, tag, signal, silence = 30_000 }: Fetch): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const outgoing = request(url, {
    ...tls,
    agent: false,
    signal,
    headers: { 'user-agent': 'capstan-node-agent', ...(from > 0 && { range: `bytes=${from}-`, 'if-range': tag }) },
  });
  outgoing.setTimeout(silence, () => outgoing.destroy(new Error(`nothing arrived for ${silence / 1000} seconds`)));
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    const { statusCode = 0 } = incoming;
    if (statusCode !== 200 && statusCode !== 206) {
      incoming.resume();
      return reject(new RefusedDownload(statusCode));
    }
    pipeline(incoming, createWriteStream(file, { flags: statusCode === 206 ? 'a' : 'w', mode: 0o600, flush: true })).then(resolve, reject);
  });
  outgoing.end();
  return promise;
}

/** 0 if there is no such file. */
export async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
