import { LineSplitter, readPieces, readText } from './body.ts';
import { ApiError } from './error.ts';
import type { Transport } from './transport.ts';

export interface LinesCall {
  readonly path: string;
  /** The longest silence, in milliseconds. */
  readonly idle: number;
  readonly signal: AbortSignal;
  /** Called once the server has accepted. */
  readonly onOpen?: () => void;
  /** Empty lines are signs of life only, and are not told. */
  readonly onLine: (line: string) => void;
}

/** Reads an answer that goes on and on, line by line, until the server ends it. */
export async function followLines(transport: Transport, { path, idle, signal, onOpen, onLine }: LinesCall): Promise<void> {
  const answer = await transport.send({ method: 'GET', path, dedicated: true, signal });
  if (answer.statusCode !== 200) throw ApiError.of(answer.statusCode ?? 0, await readText(answer, idle), answer.headers['retry-after']);
  onOpen?.();
  const lines = new LineSplitter(onLine);
  await readPieces(answer, idle, (text) => lines.push(text));
}
