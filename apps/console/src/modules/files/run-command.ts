import { endOfInput, inputFrame, receive } from '../terminal/channel.ts';
import { openStream } from '../terminal/open-stream.ts';
import { type ContainerPlace, podCommandPath } from '../terminal/paths.ts';

/** The part of a WebSocket that is used. */
export type CommandSocket = Pick<WebSocket, 'send' | 'close' | 'readyState' | 'bufferedAmount' | 'onopen' | 'onclose' | 'onmessage'>;

export interface CommandRequest {
  readonly command: readonly string[];
  readonly input?: Blob;
  /** In bytes: a command that writes more is ended. */
  readonly mostOutput: number;
  /** Called with the bytes that were sent or received so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
  readonly open?: (path: string) => CommandSocket;
}

/** In bytes. The server ends a stream with longer messages. */
const piece = 256 << 10;
/** In bytes: as much may wait in the browser. */
const mostWaiting = 4 << 20;
/** In characters, of the words of the command itself. */
const mostComplaint = 4_000;

/** A command in a container that did not end well, in its own words if it had any. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/** Runs a command in a container. Resolves with its output when it has ended well. */
export function runCommand(place: ContainerPlace, request: CommandRequest): Promise<Blob> {
  const { command, input, mostOutput, onProgress = () => {}, signal, open = openStream } = request;
  const path = podCommandPath(place, { command, hasInput: input !== undefined });
  return new Promise((resolve, reject) => {
    const socket = open(path);
    const output: Uint8Array<ArrayBuffer>[] = [];
    const decoder = new TextDecoder();
    let size = 0;
    let complaint = '';
    const settle = (act: () => void): void => {
      socket.onclose = socket.onmessage = null;
      signal?.removeEventListener('abort', abort);
      socket.close();
      act();
    };
    const fail = (message: string): void => settle(() => reject(new CommandFailure(message)));
    const abort = (): void => fail('It was cancelled.');
    if (signal?.aborted === true) return abort();
    signal?.addEventListener('abort', abort);
    socket.onopen = () => {
      if (input !== undefined) void sendAll(socket, input, onProgress).catch((error: unknown) => fail(String(error)));
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      const received = receive(data);
      if (received.type === 'stdout') {
        output.push(received.bytes);
        size += received.bytes.length;
        if (size > mostOutput) return fail('It is larger than a page can take.');
        if (input === undefined) onProgress(size);
      } else if (received.type === 'stderr')
        complaint = (complaint + decoder.decode(received.bytes, { stream: true })).slice(-mostComplaint);
      else if (received.type === 'end') {
        if (received.isSuccess) settle(() => resolve(new Blob(output)));
        else fail(complaint.trim() || received.message || 'The command failed.');
      }
    };
    socket.onclose = ({ reason }) => fail(complaint.trim() || reason || 'The connection to the unit is lost.');
  });
}

/** Sends no faster than the connection takes it. */
async function sendAll(socket: CommandSocket, input: Blob, onProgress: (bytes: number) => void): Promise<void> {
  for (let from = 0; from < input.size; from += piece) {
    const bytes = new Uint8Array(await input.slice(from, from + piece).arrayBuffer());
    while (socket.bufferedAmount > mostWaiting && socket.readyState === WebSocket.OPEN) await new Promise((done) => setTimeout(done, 20));
    if (socket.readyState !== WebSocket.OPEN) return;
    socket.send(inputFrame(bytes));
    onProgress(Math.min(from + piece, input.size));
  }
  if (socket.readyState === WebSocket.OPEN) socket.send(endOfInput());
}
