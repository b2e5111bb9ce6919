import { Readable } from 'node:stream';
import { type ChannelMessage, channel, FramedChannels } from '@capstan/streams';
import type { SizeOptions } from '../../disks/sized-folder.ts';
import { type NodeRoute, type RoutedRequest, refuse } from '../../requests/router.ts';
import type { UnitRun } from '../engine/unit-run.ts';
import type { UploadRooms } from '../uploads/rooms.ts';
import { type UnpackLimits, unpackUpload } from '../uploads/unpack.ts';
import { failureStatus, finish, successStatus } from './bridge.ts';

export interface UploadFolders {
  /** The folder of a unit. */
  readonly folder: (name: string) => string;
  readonly limits: UnpackLimits;
  readonly room?: SizeOptions | undefined;
  /** Made while the client learned that the unit waits. */
  readonly rooms?: Pick<UploadRooms, 'take'>;
}

/** Reads a gzipped tar archive from the client, and lets the unit go on once it is unpacked. After a broken one, another may follow. */
export async function serveUpload(
  request: RoutedRequest<Extract<NodeRoute, { kind: 'logs' | 'exec' | 'attach' }>>,
  run: UnitRun,
  { folder, limits, room, rooms }: UploadFolders,
): Promise<void> {
  const { pod } = request.route;
  if (!run.awaitsUpload) return refuse(request, { code: 409, reason: 'Conflict', message: `unit ${pod} does not wait for files` });
  if (run.isUploading)
    return refuse(request, { code: 409, reason: 'Conflict', message: `files for unit ${pod} are being uploaded already` });
  run.isUploading = true;
  const channels = new FramedChannels(request.respond(200));
  channels.on('error', () => {});
  try {
    const { name } = run.record;
    const made = (await rooms?.take(name)) ? 'made' : room;
    await unpackUpload(Readable.from(inputOf(channels)), folder(name), { limits, room: made, signal: request.signal });
    // The unit may have been stopped meanwhile.
    if (!run.awaitsUpload) throw new Error(`unit ${pod} no longer waits for files`);
    await run.uploaded();
    await finish(channels, successStatus);
  } catch (error) {
    const message = `the files were not accepted: ${error instanceof Error ? error.message : String(error)}`;
    if (!channels.destroyed) channels.write({ channel: channel.stderr, payload: Buffer.from(`${message}\n`) } satisfies ChannelMessage);
    await finish(channels, failureStatus(new Error(message)));
  } finally {
    run.isUploading = false;
  }
}

/** The input of the client, until it says that this is all. */
async function* inputOf(channels: FramedChannels): AsyncGenerator<Buffer> {
  let isComplete = false;
  for await (const { channel: number, payload } of channels.iterator({ destroyOnReturn: false }) as AsyncIterable<ChannelMessage>) {
    if (number === channel.stdin) yield payload;
    isComplete = number === channel.close && payload[0] === channel.stdin;
    if (isComplete) return;
  }
  throw new Error('the upload was cut off');
}
