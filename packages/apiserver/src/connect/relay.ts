import type { IncomingMessage } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StatusError, status } from '@capstan/machinery';
import { mostWaiting, type NodeResponse, TurnTaker, takeTurns } from '@capstan/streams';
import type { Exchange } from '../http/exchange.ts';
import type { OpenStream } from './open-streams.ts';

/** How much of an error is read. */
const longestError = 64 << 10;
/** How much may wait for a client before the node is paused. */
const mostPending = 256 << 10;
/** How long the other side may take to take the last bytes, in milliseconds. */
const lastWords = 5_000;

/** To be called just before a stream starts. False if the client is gone by then. */
export async function begin({ exchange, signal }: OpenStream): Promise<boolean> {
  await exchange.beforeStream?.();
  return !exchange.closed && !exchange.answered && !signal.aborted;
}

/** Sends a body to the client as it arrives, and no faster than the client reads. Resolves when it has ended. */
export async function relayBody(stream: OpenStream, { code, type, body }: { code: number; type: string; body: Readable }): Promise<void> {
  const { exchange, signal } = stream;
  if (!(await begin(stream))) return void body.destroy();
  exchange.isPatient = true;
  exchange.beforeAnswer?.();
  const answer = exchange.stream(code, type);
  // A stream that is cut must not look like one that has ended.
  const cut = (): void => {
    body.destroy();
    if (!exchange.closed) answer.abort();
  };
  signal.addEventListener('abort', cut, { once: true });
  let isFull = false;
  const turns = new TurnTaker<Buffer>((chunks) => {
    if (exchange.closed || signal.aborted) return;
    // Chunks that have waited together are sent together: each write costs more than the copy of a few lines.
    answer.write(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    if (isFull) return;
    if (answer.pending <= mostPending) {
      if (body.isPaused()) body.resume();
      return;
    }
    isFull = true;
    body.pause();
    answer.onDrain(() => {
      isFull = false;
      body.resume();
    });
  });
  body.on('data', (chunk: Buffer) => {
    stream.sent += chunk.length;
    turns.add(chunk, chunk.length);
    if (turns.bytes >= mostWaiting) body.pause();
  });
  body.resume();
  try {
    await ended(body);
    turns.flush();
    answer.end();
  } catch {
    cut();
  } finally {
    signal.removeEventListener('abort', cut);
    exchange.isPatient = false;
  }
}

/** `finished` takes an HTTP/2 stream for closed as soon as its peer has sent everything. */
function ended(body: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    // An empty body of a node may have ended together with the head.
    if (body.readableEnded) return resolve();
    body.on('end', resolve);
    body.on('error', reject);
    body.on('close', () => reject(new Error('the body ended early')));
    if (body.destroyed) reject(new Error('the body ended early'));
  });
}

/** The text of a body that is small. Rejects if it is longer, or ends early. */
export async function readWhole(body: Readable, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  body.on('data', (part: Buffer) => {
    parts.push(part);
    length += part.length;
    if (length > limit) body.destroy(new Error(`the body is longer than ${limit} bytes`));
  });
  body.resume();
  await ended(body);
  return Buffer.concat(parts).toString('utf8');
}

/** Connects two byte streams until both are closed. */
export async function splice(client: Duplex, node: Duplex, { exchange, signal }: OpenStream): Promise<void> {
  const stop = (): void => {
    client.destroy();
    node.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  for (const [from, to] of [[client, node] as const, [node, client] as const]) {
    from.on('error', () => from.destroy());
    from.pipe(to);
    takeTurns(from, () => !to.writableNeedDrain);
    from.on('close', () => {
      // The other side gets the last bytes, but nobody waits for it forever.
      if (!to.writableEnded) to.end();
      to.resume();
      exchange.isPatient = false;
      setTimeout(() => to.destroy(), lastWords).unref();
    });
  }
  await Promise.allSettled([finished(client), finished(node)]);
  signal.removeEventListener('abort', stop);
}

/** Answers with the refusal of a kubelet, as it is. */
export async function relayRefusal(exchange: Exchange, response: IncomingMessage): Promise<void> {
  const body = await readStart(response);
  // A proxy between may answer a request to change protocols with success.
  const code = (response.statusCode ?? 502) < 300 ? 502 : response.statusCode!;
  exchange.send({ code, type: response.headers['content-type'] ?? 'text/plain; charset=utf-8', body });
}

/** The error of a node that speaks HTTP through its tunnel: a `Status`, if it sent one. */
export async function tunnelRefusal({ status: code, stream }: NodeResponse, node: string): Promise<StatusError> {
  const text = (await readStart(stream)).toString();
  stream.destroy();
  try {
    const parsed = JSON.parse(text) as { kind?: string; message?: string; reason?: string };
    if (parsed.kind === 'Status') return new StatusError({ code, message: parsed.message ?? '', reason: parsed.reason ?? '' });
  } catch {
    // Not a Status.
  }
  return status.serviceUnavailable(`node ${node} answered with ${code}: ${text.slice(0, 1024)}`);
}

/** The first part of a body. Never rejects: what could not be read is missing. */
export async function readStart(body: Readable): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length >= longestError) break;
    }
  } catch {
    // The rest is lost.
  }
  return Buffer.concat(parts).subarray(0, longestError);
}
