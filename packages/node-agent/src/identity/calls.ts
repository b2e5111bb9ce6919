import { request } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import type { NodeRefusal } from '@capstan/api';
import { fieldsOf, itemsOf, textOf } from '@capstan/machinery';
import { AgentError } from './error.ts';

export interface PageCall {
  readonly method: 'GET' | 'POST';
  readonly body?: object;
  readonly token?: string;
  readonly tls: ConnectionOptions;
  readonly signal: AbortSignal;
  /** In milliseconds. */
  readonly timeout?: number;
}

const largestAnswer = 1 << 20;
/** Worth another attempt, now or at another server. */
const passing: ReadonlySet<string> = new Set<NodeRefusal>(['NoSigner', 'NotInstalled', 'NamespaceBusy']);

/** Calls a page of an API server. Rejects with an `AgentError` if the answer is not 200. */
export async function callPage(url: URL, { method, body, token, tls, signal, timeout = 15_000 }: PageCall): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const outgoing = request(url, {
    ...tls,
    agent: false,
    method,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    headers: {
      'user-agent': 'capstan-node-agent',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(payload !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
    },
  });
  const fail = (error: Error): void =>
    reject(new AgentError('unreachable', `${url.origin} cannot be reached: ${error.message}`, { cause: error }));
  outgoing.on('error', fail);
  outgoing.on('response', (incoming) => {
    let text = '';
    incoming.setEncoding('utf8');
    incoming.on('error', fail);
    incoming.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > largestAnswer) outgoing.destroy(new Error('the answer is too large'));
    });
    incoming.on('end', () => {
      if (incoming.statusCode === 200) resolve(text);
      else reject(errorOf(incoming.statusCode ?? 0, text));
    });
  });
  outgoing.end(payload);
  return promise;
}

function errorOf(status: number, text: string): AgentError {
  const { message, details } = fieldsOf(parsed(text));
  const [cause] = itemsOf(fieldsOf(details)['causes']);
  const refusal = textOf(cause?.['reason']) as NodeRefusal | '';
  const words = textOf(message) === '' ? `status ${status}` : textOf(message);
  if (refusal !== '' && !passing.has(refusal)) return new AgentError('refused', words, { refusal });
  if (status === 401) return new AgentError('refused', 'the token is wrong, has expired, or was deleted', { refusal: 'Unauthorized' });
  return new AgentError('unreachable', words);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
