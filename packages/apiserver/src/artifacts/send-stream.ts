import type { Readable } from 'node:stream';
import type { AnswerStream, Exchange } from '../http/exchange.ts';

/** In bytes: the most that waits for one client. */
const mostWaiting = 1 << 20;

/** Sends a body of known length, no faster than the client reads. The client sees that bytes are missing if the body breaks off. */
export async function sendStream(
  body: Readable,
  { exchange, answer }: { readonly exchange: Exchange; readonly answer: AnswerStream },
): Promise<void> {
  exchange.onClose(() => body.destroy());
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      answer.write(piece);
      if (answer.pending > mostWaiting) await drained(answer, exchange);
    }
    if (!exchange.closed) answer.end();
  } catch {
    answer.abort();
  }
}

function drained(answer: AnswerStream, exchange: Exchange): Promise<void> {
  return new Promise((resolve) => {
    answer.onDrain(resolve);
    exchange.onClose(resolve);
  });
}
