/** The channels of `v5.channel.k8s.io`: the first byte of every message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

export const subprotocol = 'v5.channel.k8s.io';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function frame(channel: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(payload.length + 1);
  bytes[0] = channel;
  bytes.set(payload, 1);
  return bytes;
}

export const inputFrame = (input: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  frame(channels.stdin, typeof input === 'string' ? encoder.encode(input) : input);

/** The input ends. */
export const endOfInput = (): Uint8Array<ArrayBuffer> => frame(channels.close, Uint8Array.of(channels.stdin));

export function sizeFrame({ columns, rows }: { readonly columns: number; readonly rows: number }): Uint8Array<ArrayBuffer> {
  return frame(channels.resize, encoder.encode(JSON.stringify({ Width: columns, Height: rows })));
}

export type Received =
  | { readonly type: 'stdout' | 'stderr'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: 'end'; readonly isSuccess: boolean; readonly message: string | undefined }
  | { readonly type: 'none' };

/** A message of the server. */
export function receive(data: ArrayBuffer): Received {
  const bytes = new Uint8Array(data);
  if (bytes.length < 2) return { type: 'none' };
  const payload = bytes.subarray(1);
  switch (bytes[0]) {
    case channels.stdout:
      return { type: 'stdout', bytes: payload };
    case channels.stderr:
      return { type: 'stderr', bytes: payload };
    case channels.error:
      return endOf(decoder.decode(payload));
    default:
      return { type: 'none' };
  }
}

/** How the command ended. */
function endOf(text: string): Received {
  try {
    const { status, message } = JSON.parse(text) as { status?: string; message?: string };
    return { type: 'end', isSuccess: status === 'Success', message };
  } catch {
    return { type: 'end', isSuccess: false, message: text };
  }
}
