import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { isHandshake, type UpgradeRequest } from '@capstan/streams';
import { Refusal } from '../guard/refusal.ts';
import type { Session } from '../sessions/session.ts';
import { handshakeHeaders } from './headers.ts';
import { checkPath } from './relay.ts';
import type { Target } from './target.ts';

export interface RelayedUpgrade extends UpgradeRequest {
  readonly target: Target;
  readonly path: string;
  readonly session: Session;
  /** In milliseconds: until the server agrees. */
  readonly answerWithin: number;
}

/** The longest refusal of a server that is passed on, in bytes. */
const longestRefusal = 64 << 10;

/** Connects a WebSocket of a page with the same address of a server, as the user of the session. Resolves when it is over. */
export async function relayUpgrade(request: RelayedUpgrade): Promise<void> {
  const { request: incoming, socket, head, target, path, session, answerWithin } = request;
  if (!isHandshake(incoming)) throw new Refusal('bad_request', 'Expected the handshake of a WebSocket.');
  checkPath(path);
  const headers = handshakeHeaders(incoming.headers, await session.authorization());
  const outgoing = target.request({ method: 'GET', path, headers, upgrades: true });
  const stop = (): void => void outgoing.destroy();
  socket.on('close', stop);
  socket.on('error', stop);
  try {
    const answer = await new Promise<Answer>((resolve, reject) => {
      outgoing.setTimeout(answerWithin, () => outgoing.destroy());
      outgoing.on('error', () => reject(unavailable()));
      outgoing.on('close', () => reject(unavailable()));
      outgoing.on('upgrade', (response, upstream, first) => resolve({ response, upstream, first }));
      outgoing.on('response', (response) => resolve({ response }));
      outgoing.end();
    });
    outgoing.setTimeout(0);
    if (!('upstream' in answer)) return await refuse(socket, answer.response);
    const { response, upstream, first } = answer;
    socket.write(headOf(101, acceptance(response)));
    await join({ socket, head }, { upstream, first }, session.ended);
  } finally {
    socket.off('close', stop);
    socket.off('error', stop);
    outgoing.destroy();
  }
}

type Answer =
  | { readonly response: IncomingMessage }
  | { readonly response: IncomingMessage; readonly upstream: Duplex; readonly first: Buffer };

/** Copies both directions, each at the speed of its reader, until either side or the session ends. */
function join(
  { socket, head }: { readonly socket: Duplex; readonly head: Buffer },
  { upstream, first }: { readonly upstream: Duplex; readonly first: Buffer },
  ended: AbortSignal,
): Promise<void> {
  if (head.length > 0) upstream.write(head);
  if (first.length > 0) socket.write(first);
  return new Promise((resolve) => {
    const stop = (): void => {
      ended.removeEventListener('abort', stop);
      socket.destroy();
      upstream.destroy();
      resolve();
    };
    ended.addEventListener('abort', stop, { once: true });
    for (const side of [socket, upstream]) side.on('error', stop).on('close', stop);
    socket.pipe(upstream);
    upstream.pipe(socket);
    if (ended.aborted) stop();
  });
}

function acceptance({ headers }: IncomingMessage): Record<string, string> {
  const { 'sec-websocket-accept': accept = '', 'sec-websocket-protocol': protocol } = headers;
  return {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-accept': accept,
    ...(protocol !== undefined && { 'sec-websocket-protocol': protocol }),
  };
}

/** Browsers do not show the answer to scripts, but other clients do. */
async function refuse(socket: Duplex, response: IncomingMessage): Promise<void> {
  let body = Buffer.alloc(0);
  for await (const chunk of response) {
    body = Buffer.concat([body, chunk as Buffer]);
    if (body.length > longestRefusal) break;
  }
  const headers = {
    'content-type': response.headers['content-type'] ?? 'text/plain',
    'content-length': String(body.length),
    connection: 'close',
  };
  socket.write(headOf(response.statusCode ?? 502, headers));
  socket.end(body);
}

/** The head of an answer on a connection that Node no longer looks after. */
export function headOf(code: number, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Refused'}\r\n${lines.join('')}\r\n`;
}

function unavailable(): Refusal {
  return new Refusal('unavailable', 'The server behind the console cannot be reached at the moment. Try again.');
}
