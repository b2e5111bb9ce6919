import { LineSplitter, readText } from './body.ts';
import { ApiError } from './error.ts';
import type { Transport } from './transport.ts';

export interface LinesCall {
  readonly path: string;
  /** The longest silence, in milliseconds. */
  readonly idle: number;
  readonly signal: AbortSignal;
  /** Called when the server has accepted the request. */
  readonly onOpen?: () => void;
  /** Not called for empty lines, which are only signs of life. */
  readonly onLine: (line: string) => void;
}

/** Reads an endless response line by line, until the server ends it. */
export async function followLines(transport: Transport, { path, idle, signal, onOpen, onLine }: LinesCall): Promise<void> {
  const answer = await transport.send({ method: 'GET', path, dedicated: true, signal });
  if (answer.code !== 200) throw ApiError.of(answer.code, await readText(answer, idle), answer.header('retry-after'));
  onOpen?.();
  const lines = new LineSplitter(onLine);
  await answer.read(idle, (text) => lines.push(text));
}
