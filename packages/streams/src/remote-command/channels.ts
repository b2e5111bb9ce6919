import type { Duplex } from 'node:stream';

/** The channels of exec and attach, numbered as in `v5.channel.k8s.io`. */
export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/**
 * A piece of a channel. The pieces of stdin, stdout and stderr are bytes in order; each piece of the others is whole: a `Status` on error,
 * a size on resize, and on close the number of the channel that ends.
 */
export interface ChannelMessage {
  readonly channel: number;
  readonly payload: Buffer;
}

/** One end of a remote command: an object stream of messages in both directions. Ending it means that the command is over. */
export type CommandChannels = Duplex;

/** Which channels a command uses. */
export interface CommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** How many messages wait in each direction before their sender has to wait. */
export const waitingMessages = 2;
/** Longer messages end the connection. */
export const longestMessage = 1 << 20;

/** The last message of a command whose node went away. */
export function failureMessage(message: string): ChannelMessage {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
  return { channel: channel.error, payload: Buffer.from(JSON.stringify(status)) };
}

/** Whether a Status on the error channel is one of success. */
export function isSuccess(payload: Buffer): boolean {
  return statusOf(payload)?.status === 'Success';
}

/** The error as text, for protocols before v4: empty for success. */
export function errorText(payload: Buffer): string {
  const status = statusOf(payload);
  if (status === undefined) return payload.toString();
  return status.status === 'Success' ? '' : (status.message ?? 'the command failed');
}

function statusOf(payload: Buffer): { readonly status?: string; readonly message?: string } | undefined {
  try {
    const parsed: unknown = JSON.parse(payload.toString());
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}
