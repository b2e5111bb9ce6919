import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { upgradedHeader, upgradeHeader } from '@capstan/streams';
import { join } from './join.ts';
import { type RoutedRequest, refuse } from './router.ts';

/** Headers between the API server and this agent, and those of one connection. */
const notPassedOn = /^(?:capstan-.*|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|host)$/;

export interface ForwardOptions {
  /** Names the target in errors: `unit web`. */
  readonly target: string;
  /** Begins the request to the target with these headers. The body follows. */
  readonly begin: (headers: Record<string, string>) => ClientRequest;
}

/** Passes an HTTP request on to something on this machine, and its response or the protocol that it changes to back. */
export async function forward(request: RoutedRequest, { target, begin }: ForwardOptions): Promise<void> {
  const { signal, headers, body } = request;
  const upgrade = headers[upgradeHeader];
  const outgoing = begin({ ...passedOn(headers), ...(upgrade !== undefined && { connection: 'Upgrade', upgrade }) });
  signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
  let answer: Answer;
  try {
    answer = await answerTo(outgoing, upgrade === undefined ? body : undefined);
  } catch (error) {
    if (signal.aborted) return;
    const why = error instanceof Error ? error.message : String(error);
    return refuse(request, { code: 502, reason: 'ServiceUnavailable', message: `error trying to reach ${target}: ${why}` });
  }
  const { response } = answer;
  const returned = passedOn(response.headers);
  if (answer.kind === 'upgraded') return join(request.respond(200, { ...returned, [upgradedHeader]: 'true' }), answer.socket);
  const stream = request.respond(response.statusCode ?? 502, returned);
  // A response that was cut off must not look complete.
  response.on('error', (error) => stream.destroy(error));
  response.once('close', () => {
    if (!response.complete) stream.destroy(new Error('the target broke off its response'));
  });
  response.pipe(stream);
}

type Answer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | { readonly kind: 'upgraded'; readonly response: IncomingMessage; readonly socket: Duplex };

function answerTo(outgoing: ClientRequest, body: NodeJS.ReadableStream | undefined): Promise<Answer> {
  return new Promise((resolve, reject) => {
    outgoing.on('error', reject);
    outgoing.on('response', (response) => resolve({ kind: 'response', response }));
    outgoing.on('upgrade', (response, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve({ kind: 'upgraded', response, socket });
    });
    if (body === undefined) outgoing.end();
    else body.pipe(outgoing);
  });
}

function passedOn(headers: NodeJS.Dict<string | string[]>): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !notPassedOn.test(name)) passed[name] = Array.isArray(value) ? value.join(', ') : value;
  return passed;
}

/** The query of a request as the client wrote it, with its question mark. */
export const queryOf = (path: string): string => (path.includes('?') ? path.slice(path.indexOf('?')) : '');
