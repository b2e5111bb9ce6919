/** The channels of `v5.channel.k8s.io`: the first byte of every message. */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

export const subprotocol = 'v5.channel.k8s.io';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function frame(channel: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(payload.length + 1);
  bytes[0] = channel;
  bytes.set(payload, 1);
  return bytes;
}

export const inputFrame = (text: string): Uint8Array<ArrayBuffer> => frame(channels.stdin, encoder.encode(text));

export function sizeFrame({ columns, rows }: { readonly columns: number; readonly rows: number }): Uint8Array<ArrayBuffer> {
  return frame(channels.resize, encoder.encode(JSON.stringify({ Width: columns, Height: rows })));
}

export type Received =
  | { readonly type: 'output'; readonly bytes: Uint8Array }
  | { readonly type: 'end'; readonly message: string }
  | { readonly type: 'none' };

/** A message of the server. */
export function receive(data: ArrayBuffer): Received {
  const bytes = new Uint8Array(data);
  if (bytes.length < 2) return { type: 'none' };
  const payload = bytes.subarray(1);
  if (bytes[0] === channels.stdout || bytes[0] === channels.stderr) return { type: 'output', bytes: payload };
  return bytes[0] === channels.error ? { type: 'end', message: endOf(decoder.decode(payload)) } : { type: 'none' };
}

/** How the command ended, for people. */
function endOf(text: string): string {
  try {
    const { status, message } = JSON.parse(text) as { status?: string; message?: string };
    return status === 'Success' ? 'The shell has ended.' : (message ?? 'The shell has ended with an error.');
  } catch {
    return text;
  }
}
