import type { IncomingMessage } from 'node:http';

/** A server, and what it wants to see of a client. */
export interface StreamServer {
  /** With the path and the query of the stream. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: {
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
  };
  readonly signal?: AbortSignal;
  /** How long the server may take until the stream begins, in milliseconds. */
  readonly patience?: number;
}

export const defaultPatience = 30_000;
const longestRefusal = 64 << 10;

/** The server cannot be reached, or the stream ended before its end was told. Whether the command still runs is not known. */
export class StreamLost extends Error {
  override readonly name = 'StreamLost';
}

/** The server answered without changing protocols. The text is the body of its answer, usually a `Status`. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly code: number;
  readonly text: string;

  constructor(code: number, text: string) {
    super(`the server answered ${code} instead of beginning a stream`);
    this.code = code;
    this.text = text;
  }
}

export async function refusalOf(response: IncomingMessage): Promise<UpgradeRefused> {
  let text = '';
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > longestRefusal) break;
    }
  } catch {
    // The part that has arrived says enough.
  }
  return new UpgradeRefused(response.statusCode ?? 0, text.slice(0, longestRefusal));
}
