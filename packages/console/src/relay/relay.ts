import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { writePatiently } from '@capstan/serving';
import { Refusal } from '../guard/refusal.ts';
import { commonHeaders, dataPolicy } from '../pages/policy.ts';
import type { Session } from '../sessions/session.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import type { Target } from './target.ts';

export interface RelayLimits {
  /** In bytes. */
  readonly body: number;
  /** At once, for each session. */
  readonly requests: number;
  /** In milliseconds: until an answer begins, and while a reader accepts nothing. */
  readonly answerWithin: number;
  readonly readerPatience: number;
}

export const defaultRelayLimits: RelayLimits = { body: 8 << 20, requests: 64, answerWithin: 60_000, readerPatience: 60_000 };

export interface RelayedRequest {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  /** At the target, with the query. */
  readonly path: string;
  readonly session: Session;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Sends a request on as the user of the session, and its answer back, both as streams. Resolves when the answer has ended. */
export async function relay(request: RelayedRequest, limits: RelayLimits): Promise<void> {
  const { incoming, session } = request;
  if (!methods.has(incoming.method ?? '')) throw new Refusal('method_not_allowed', `Expected one of ${[...methods].join(', ')}.`);
  checkPath(request.path);
  if (Number(incoming.headers['content-length'] ?? 0) > limits.body) throw tooLarge(limits);
  if (session.requests >= limits.requests)
    throw new Refusal('too_many', `Each session can have ${limits.requests} requests at once. Wait for one to end.`);
  session.requests++;
  try {
    await exchange(request, limits);
  } finally {
    session.requests--;
  }
}

/** Anything that two programs could read differently is refused, and so is anything whose answer would contain the token of the session. */
export function checkPath(path: string): void {
  const [before = ''] = path.split('?');
  if (/\\|[^\x21-\x7e]/.test(path) || before.includes('//') || before.split('/').some((one) => /^(\.|%2e){1,2}$/i.test(one)))
    throw new Refusal('bad_request', 'The address contains a segment that no name has.');
  if (tokensInside.test(decoded(before)))
    throw new Refusal('not_for_browsers', 'A kubeconfig with a token is not for browsers. Get it with "capstan app kubeconfig".');
}

/** A kubeconfig of the REST API contains the token of the caller, which scripts of pages must never get. */
const tokensInside = /^\/(clusters\/[^/]+\/)?api\/v1\/app-runtime\/instances\/[^/]+\/kubeconfig$/;

function decoded(path: string): string {
  try {
    return decodeURIComponent(path).replace(/\/+$/, '');
  } catch {
    return path;
  }
}

async function exchange({ incoming, response, target, path, session }: RelayedRequest, limits: RelayLimits): Promise<void> {
  const headers = {
    ...requestHeaders(incoming.headers, await session.authorization()),
    // Node sends the body of a GET or DELETE without any framing otherwise, and the server would take it for the next request.
    ...(incoming.headers['transfer-encoding'] !== undefined && { 'transfer-encoding': 'chunked' }),
  };
  const over = new AbortController();
  const stop = (): void => over.abort();
  // The reader is gone, or has signed out.
  response.on('close', stop);
  session.ended.addEventListener('abort', stop, { once: true });
  const send = (): Promise<IncomingMessage> => {
    const outgoing = target.request({ method: incoming.method!, path, headers });
    over.signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
    return answerOf(outgoing, incoming, limits);
  };
  try {
    const answer = await send().catch((error: unknown) => {
      // The server closed a connection that waited for its next request, as at a restart. Reading twice is harmless.
      if (error instanceof StaleConnection && !hasBody(incoming) && !over.signal.aborted) return send();
      throw error;
    });
    response.writeHead(answer.statusCode ?? 502, {
      ...commonHeaders,
      'cache-control': 'no-store',
      'content-security-policy': dataPolicy,
      ...responseHeaders(answer.headers),
    });
    // A stream may be silent at first, and its reader wants to know that it began.
    response.flushHeaders();
    await copy(answer, response, limits);
  } finally {
    response.off('close', stop);
    session.ended.removeEventListener('abort', stop);
  }
}

/** A read on a connection that had been used before, and that ended without an answer. */
class StaleConnection extends Refusal {
  constructor() {
    super('unavailable', unavailable().message);
  }
}

function answerOf(outgoing: ClientRequest, incoming: IncomingMessage, limits: RelayLimits): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.setTimeout(limits.answerWithin, () =>
      outgoing.destroy(
        new Refusal('upstream_timeout', 'The server did not answer in time. Whether a change took effect is unknown: read the object.'),
      ),
    );
    outgoing.on('error', (error) => {
      const isStale = outgoing.reusedSocket && (incoming.method === 'GET' || incoming.method === 'HEAD');
      reject(error instanceof Refusal ? error : isStale ? new StaleConnection() : unavailable());
    });
    outgoing.on('close', () => reject(unavailable()));
    outgoing.on('response', (answer) => {
      outgoing.setTimeout(0);
      resolve(answer);
    });
    if (!hasBody(incoming)) {
      outgoing.end();
      return;
    }
    const limiter = limited(limits);
    limiter.on('error', (error) => {
      outgoing.destroy();
      reject(error);
    });
    incoming.on('close', () => {
      if (!incoming.readableEnded) outgoing.destroy();
    });
    incoming.pipe(limiter).pipe(outgoing);
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

function limited(limits: RelayLimits): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > limits.body) done(tooLarge(limits));
      else done(null, chunk);
    },
  });
}

async function copy(answer: IncomingMessage, response: ServerResponse, { readerPatience }: RelayLimits): Promise<void> {
  try {
    for await (const chunk of answer) {
      await writePatiently(response, chunk as Buffer, readerPatience);
      if (response.destroyed) break;
    }
    response.end();
  } catch {
    // An answer that has begun can only be cut short, so that its reader notices.
    response.destroy();
  }
  if (response.destroyed) answer.destroy();
}

function tooLarge({ body }: RelayLimits): Refusal {
  return new Refusal('body_too_large', `Expected a body of at most ${body} bytes.`);
}

function unavailable(): Refusal {
  return new Refusal('unavailable', 'The server behind the console cannot be reached at the moment. Try again.');
}
