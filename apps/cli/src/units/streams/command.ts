import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Status } from '@capstan/machinery';
import { type ChannelMessage, channel, dialCommand } from '@capstan/streams';
import { type CommandQuery, commandPath, NodeAway, refusalOf, streamTo, type UnitPod } from './pod.ts';

export interface CommandResult {
  readonly code: number;
  /** Why it failed, if not by its exit code. */
  readonly message?: string;
}

export interface BeginOptions {
  readonly stdout?: NodeJS.WritableStream;
  readonly stderr?: NodeJS.WritableStream;
  readonly signal?: AbortSignal;
  /** How long to wait for the node, in milliseconds. */
  readonly patience?: number;
}

/** A running command, or the program of a unit that one attached to. */
export class RemoteCommand {
  readonly #channels: Duplex;
  readonly #status = Promise.withResolvers<CommandResult>();

  private constructor(channels: Duplex, { stdout, stderr }: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream }) {
    this.#channels = channels;
    this.#status.promise.catch(() => {});
    channels.on('data', ({ channel: number, payload }: ChannelMessage) => {
      if (number === channel.error) return this.#status.resolve(resultOf(payload));
      const output = number === channel.stderr ? stderr : number === channel.stdout ? stdout : undefined;
      if (output === undefined || output.write(payload)) return;
      channels.pause();
      output.once('drain', () => channels.resume());
    });
    finished(channels, { writable: false }).then(
      () => this.#status.reject(new Error('the stream ended without a status')),
      (error: unknown) => this.#status.reject(error),
    );
  }

  /** Fails with the error of the server, or with `StreamLost` through `result`. Waits a little for a node that is being connected again. */
  static async begin(pod: UnitPod, query: CommandQuery, options: BeginOptions = {}): Promise<RemoteCommand> {
    const { stdout = process.stdout, stderr = process.stderr, signal, patience = 5_000 } = options;
    for (const end = Date.now() + patience; ; await sleep(250)) {
      try {
        return new RemoteCommand(await dialCommand(await streamTo(pod, commandPath(pod, query), signal)), { stdout, stderr });
      } catch (refused) {
        const error = refusalOf(refused, pod);
        if (!(error instanceof NodeAway) || Date.now() > end || signal?.aborted === true) throw error;
      }
    }
  }

  /** Settles when the command has ended. */
  get result(): Promise<CommandResult> {
    return this.#status.promise;
  }

  /** Sends input. False if the command does not keep up: wait for `drained`. */
  input(payload: Buffer): boolean {
    return this.#channels.destroyed || this.#channels.write({ channel: channel.stdin, payload });
  }

  /** Calls back once when more input is wanted, or none ever will be. */
  drained(then: () => void): void {
    const once = (): void => {
      this.#channels.off('drain', once).off('close', once);
      then();
    };
    this.#channels.on('drain', once).on('close', once);
  }

  endInput(): void {
    if (!this.#channels.destroyed) this.#channels.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
  }

  resize(columns: number, rows: number): void {
    if (!this.#channels.destroyed)
      this.#channels.write({ channel: channel.resize, payload: Buffer.from(JSON.stringify({ Width: columns, Height: rows })) });
  }

  close(): void {
    this.#channels.destroy();
  }
}

/** Sends a whole stream as input, and ends it. Stops early, without an error, if the command has ended. */
export async function sendInput(command: RemoteCommand, source: AsyncIterable<Buffer>): Promise<void> {
  let isOver = false;
  void command.result.then(
    () => (isOver = true),
    () => (isOver = true),
  );
  for await (const part of source) {
    if (isOver) return;
    if (!command.input(part)) await new Promise<void>((resolve) => command.drained(resolve));
  }
  command.endInput();
}

function resultOf(payload: Buffer): CommandResult {
  const status = JSON.parse(payload.toString()) as Status;
  if (status.status === 'Success') return { code: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === 'ExitCode');
  const code = Number(cause?.message);
  if (status.reason === 'NonZeroExitCode' && Number.isInteger(code)) return { code };
  return { code: 1, message: status.message ?? 'the command failed' };
}
