import { Readable, Writable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { containerOfRank, uploadContainer } from '@capstan/api';
import { writeArchive } from '../../archive/write.ts';
import { Failure } from '../../failure.ts';
import { RemoteCommand, sendInput } from '../streams/command.ts';
import type { UnitPod } from '../streams/pod.ts';
import { formatBytes, printable, shownPath } from '../words.ts';
import type { Listing } from './listing.ts';

/** Fast, and nearly as small as the best level for source code. */
const level = 3;

export interface SendOptions {
  readonly listing: Listing;
  /** Of the node. */
  readonly rank: number;
  readonly signal: AbortSignal;
  readonly onProgress: (text: string) => void;
  readonly onNotice: (text: string) => void;
}

/** Sends the files to the container that waits for them. If the connection breaks, it can be repeated: the node takes all files or none. */
export async function sendFiles(pod: UnitPod, { listing, rank, signal, onProgress, onNotice }: SendOptions): Promise<void> {
  let complaint = '';
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      complaint = (complaint + chunk.toString()).slice(-2000);
      done();
    },
  });
  const query = { container: containerOfRank(uploadContainer, rank), stdin: true, stdout: true, stderr: true, tty: false };
  const command = await RemoteCommand.begin(pod, query, { signal, stdout: output, stderr: output });
  let sent = 0;
  const archive = writeArchive({
    folder: listing.folder,
    entries: listing.entries,
    onBytes: (count) => {
      sent += count;
      onProgress(`Uploading ${formatBytes(sent)} of ${formatBytes(listing.bytes)}`);
    },
    onShort: (path) => onNotice(`${shownPath(path)} became shorter while it was uploaded.`),
  });
  const source = Readable.from(archive, { objectMode: false });
  const gzip = createGzip({ level });
  source.on('error', (error) => gzip.destroy(error));
  try {
    await sendInput(command, source.pipe(gzip));
  } finally {
    source.destroy();
    gzip.destroy();
  }
  const { code, message } = await command.result;
  if (code === 0) return;
  throw new Failure('unexpected', `the node did not take the files: ${message ?? (printable(complaint.trim()) || `exit code ${code}`)}`);
}
