import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isObject } from '@capstan/machinery';
import { type ChannelMessage, channel, FramedChannels } from '@capstan/streams';
import type { RoomStreams } from '../drivers/driver.ts';

export interface BridgeOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** In milliseconds: output that arrives later than so much after the exit code comes from something that the command left behind. */
const lastWords = 1_000;

/** Joins a command and the client at the other end of a stream, until one of them ends. The exit code goes to the client as a Status. */
export async function bridge(stream: Duplex, command: RoomStreams, { stdin, stdout, stderr }: BridgeOptions): Promise<void> {
  const channels = new FramedChannels(stream);
  const gone = Promise.withResolvers<void>();
  channels.on('error', () => {});
  channels.once('close', () => gone.resolve());
  const input = stdin ? command.stdin : undefined;
  input?.on('error', () => {});
  channels.on('data', ({ channel: number, payload }: ChannelMessage) => {
    if (number === channel.resize) command.resize?.(sizeOf(payload) ?? usualSize);
    else if (number === channel.stdin && input?.writable === true && !input.write(payload)) {
      channels.pause();
      input.once('drain', () => channels.resume());
    } else if (number === channel.close && payload[0] === channel.stdin) input?.end();
  });
  // A command that reads no more must not keep the client from being read.
  input?.once('close', () => channels.resume());
  channels.on('end', () => input?.end());
  const outputs = [
    forward(command.stdout, channels, stdout ? channel.stdout : undefined),
    ...(command.stderr === undefined ? [] : [forward(command.stderr, channels, stderr ? channel.stderr : undefined)]),
  ];
  const outcome = await Promise.race([command.exited.then((code) => ({ code })), gone.promise]).catch((error: unknown) => ({ error }));
  if (outcome === undefined || channels.destroyed) return command.close();
  await Promise.race([Promise.all(outputs), sleep(lastWords, undefined, { ref: false }), gone.promise]);
  const status = 'code' in outcome ? exitStatus(outcome.code) : failureStatus(outcome.error);
  await finish(channels, status);
}

/** Sends the last message, and waits until it is on its way. */
export async function finish(channels: FramedChannels, status: object): Promise<void> {
  if (channels.destroyed) return;
  channels.write({ channel: channel.error, payload: Buffer.from(JSON.stringify(status)) } satisfies ChannelMessage);
  await new Promise<void>((resolve) => {
    channels.once('close', () => resolve());
    channels.end(() => resolve());
  });
}

const usualSize = { columns: 80, rows: 24 };
const head = { kind: 'Status', apiVersion: 'v1', metadata: {} };

export const successStatus = { ...head, status: 'Success' };

export function failureStatus(error: unknown): object {
  const message = error instanceof Error ? error.message : String(error);
  return { ...head, status: 'Failure', reason: 'InternalError', code: 500, message };
}

/** As kubelets report it: clients read the code from the causes. */
function exitStatus(code: number | undefined): object {
  if (code === 0 || code === undefined) return successStatus;
  const message = `command terminated with non-zero exit code: exit status ${code}`;
  const details = { causes: [{ reason: 'ExitCode', message: String(code) }] };
  return { ...head, status: 'Failure', reason: 'NonZeroExitCode', message, details };
}

/** Undefined as the number: the output is read and thrown away, so that the command does not wait. */
async function forward(from: Readable, to: FramedChannels, number: number | undefined): Promise<void> {
  try {
    for await (const payload of from as AsyncIterable<Buffer>) {
      if (to.destroyed || to.writableEnded) return;
      if (number === undefined) continue;
      const message: ChannelMessage = { channel: number, payload };
      if (!to.write(message)) await drained(to);
    }
  } catch {
    // The command or the client is gone.
  }
}

function drained(channels: FramedChannels): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      channels.off('drain', done);
      channels.off('close', done);
      resolve();
    };
    channels.on('drain', done);
    channels.on('close', done);
  });
}

function sizeOf(payload: Buffer): { columns: number; rows: number } | undefined {
  try {
    const value: unknown = JSON.parse(payload.toString());
    if (!isObject(value)) return undefined;
    const [columns, rows] = [Number(value['Width']), Number(value['Height'])];
    const isSize = [columns, rows].every((one) => Number.isInteger(one) && one > 0 && one < 65536);
    return isSize ? { columns, rows } : undefined;
  } catch {
    return undefined;
  }
}
