import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { type ArtifactPartStored, artifactPath, largestArtifactPart } from '@capstan/api';
import type { Client } from '@capstan/client';
import { Failure } from '../failure.ts';

export interface UploadOptions {
  readonly name: string;
  readonly onProgress?: (sent: number, size: number) => void;
  /** In bytes, of one request. */
  readonly partSize?: number;
}

/** Sends a file to the API server, from where an earlier attempt has ended. Returns its SHA-256. `client` is that of the root of the server. */
export async function uploadArtifact(
  client: Client,
  file: string,
  { name, onProgress, partSize = largestArtifactPart }: UploadOptions,
): Promise<{ readonly sha256: string; readonly size: number }> {
  const sha256 = await hashOf(file);
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    let offset = 0;
    let isResumed = false;
    for (;;) {
      const bytes = await piece(handle, offset, Math.min(partSize, size - offset));
      const query = new URLSearchParams({ offset: String(offset), size: String(size), name });
      const stored = await client.json<ArtifactPartStored>({
        method: 'PUT',
        path: `${artifactPath(sha256)}?${query.toString()}`,
        headers: { 'content-type': 'application/octet-stream' },
        body: bytes,
        // A part that was stored is not stored again: the answer says how far the server is.
        repeatable: 'idempotent',
      });
      if (stored.complete) return { sha256, size };
      if (stored.size < offset || stored.size > size) {
        // The server has deleted what it had. Once is enough: two servers that take turns would never end.
        if (isResumed) throw new Failure('unexpected', `the server has only ${stored.size} of ${offset} bytes; try again.`);
        isResumed = true;
      }
      offset = stored.size;
      onProgress?.(offset, size);
    }
  } finally {
    await handle.close();
  }
}

async function piece(handle: FileHandle, position: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await handle.read(bytes, read, length - read, position + read);
    if (bytesRead === 0) throw new Failure('unexpected', 'the file became shorter while it was uploaded.');
    read += bytesRead;
  }
  return bytes;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
