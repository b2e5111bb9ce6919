import type { Connection as Address } from '@capstan/testbed';
import { Connection, type RequestParts, requestText, secureContext } from './connection.ts';

export interface Answer {
  readonly status: number;
  readonly bytes: number;
  readonly text: string;
  readonly milliseconds: number;
}

/** One request on a connection of its own. */
export async function ask(address: Address, parts: RequestParts): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const connection = await Connection.open(address, secureContext(address), reject);
  const pieces: string[] = [];
  const began = performance.now();
  connection.send(
    requestText({ ...parts, token: address.token }),
    (status, bytes) => resolve({ status, bytes, text: pieces.join(''), milliseconds: performance.now() - began }),
    (text) => pieces.push(text),
  );
  try {
    return await promise;
  } finally {
    connection.close();
  }
}

/** One request that must succeed. */
export async function mustAsk(address: Address, parts: RequestParts): Promise<Answer> {
  const answer = await ask(address, parts);
  if (answer.status >= 400) throw new Error(`${parts.method} ${parts.path} was answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  return answer;
}

export async function makeNamespace(address: Address, name: string): Promise<void> {
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  await mustAsk(address, { method: 'POST', path: '/api/v1/namespaces', body });
}
