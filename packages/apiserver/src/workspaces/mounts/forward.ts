import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { User } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { Exchange } from '../../http/exchange.ts';
import { networkFailure } from '../../http/network-failure.ts';
import { isStale } from '../../http/stale-connection.ts';
import { trusting } from '../../http/trust.ts';
import { CannotBeTold, handedBack, identityOf, passedOn } from './headers.ts';
import type { Away } from './mounts.ts';
import type { MountBackend } from './target.ts';

const bodyLimit = 3 << 20;
/** How long to wait for the response to start. */
const patience = 60_000;
/** How much may be buffered for a slow client before the backend is paused. */
const mostPending = 1 << 20;
/** A request that came through this many servers like this one is in a cycle. */
const mostServers = 4;
const self = '1.1 capstan';

/** Forwards requests to the target of a mount, over kept connections. */
export class Forwarder implements Disposable {
  readonly #agents = new Map<MountBackend, HttpAgent | HttpsAgent>();

  [Symbol.dispose](): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** Resolves when the response has started or ended. */
  async forward(exchange: Exchange, away: Away, user: User): Promise<void> {
    if (away.kind === 'nowhere') throw away.error;
    const { backend, url } = away;
    const via = serversOn(exchange.headers.via);
    if (via.length >= mostServers) throw status.serviceUnavailable('mounts form a cycle');
    const headers = [
      ...passedOn(exchange.rawHeaders),
      ...identity(user),
      'Via',
      [...via, self].join(', '),
      'X-Forwarded-For',
      exchange.remoteAddress,
    ];
    const body = await exchange.body(bodyLimit);
    if (body.length > 0 || writes(exchange.method)) headers.push('Content-Length', String(body.length));
    headers.push('Host', url.host);
    const incoming = await this.#send({ backend, url, headers, body }, exchange);
    handBack(incoming, exchange);
  }

  #send(sent: Sent, exchange: Exchange): Promise<IncomingMessage> {
    const { backend, url, headers, body } = sent;
    return new Promise((resolve, reject) => {
      const outgoing = (url.protocol === 'http:' ? httpRequest : httpsRequest)(url, {
        agent: this.#agent(backend),
        method: exchange.method,
        headers,
        setDefaultHeaders: false,
      });
      const giveUp = setTimeout(() => outgoing.destroy(new Error(`no answer within ${patience / 1000} s`)), patience);
      exchange.onClose(() => outgoing.destroy());
      outgoing.on('response', (incoming) => {
        clearTimeout(giveUp);
        resolve(incoming);
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(giveUp);
        const isRepeatable = !writes(exchange.method) && !exchange.closed;
        if (isRepeatable && isStale(outgoing, error)) resolve(this.#send(sent, exchange));
        else reject(status.serviceUnavailable(`error trying to reach service: ${networkFailure(error)}`));
      });
      outgoing.end(body);
    });
  }

  #agent(backend: MountBackend): HttpAgent | HttpsAgent {
    let agent = this.#agents.get(backend);
    if (agent === undefined) {
      const { authorities, certificate } = backend;
      agent =
        new URL(backend.url).protocol === 'http:'
          ? new HttpAgent({ keepAlive: true })
          : new HttpsAgent({ keepAlive: true, ...(authorities !== undefined && trusting(authorities)), ...certificate });
      this.#agents.set(backend, agent);
    }
    return agent;
  }
}

interface Sent {
  readonly backend: MountBackend;
  readonly url: URL;
  readonly headers: string[];
  readonly body: Buffer;
}

const writes = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

function identity(user: User): string[] {
  try {
    return identityOf(user);
  } catch (error) {
    throw error instanceof CannotBeTold ? status.badRequest(error.message) : error;
  }
}

/** Servers like this one that forwarded a request. */
function serversOn(via: string | string[] | undefined): string[] {
  return [via ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((one) => one.trim())
    .filter((one) => one === self);
}

function handBack(incoming: IncomingMessage, exchange: Exchange): void {
  if (exchange.answered || exchange.closed) {
    incoming.destroy();
    return;
  }
  const code = incoming.statusCode ?? 502;
  const type = incoming.headers['content-type'] ?? 'application/octet-stream';
  for (const [name, value] of handedBack(incoming.rawHeaders)) exchange.header(name, value);
  if (exchange.method === 'HEAD' || code === 204 || code === 304) {
    incoming.resume();
    exchange.send({ code, type, body: '' });
    return;
  }
  const answer = exchange.stream(code, type);
  incoming.on('data', (chunk: Buffer) => {
    answer.write(chunk);
    if (answer.pending <= mostPending) return;
    incoming.pause();
    answer.onDrain(() => incoming.resume());
  });
  incoming.on('end', () => answer.end());
  incoming.on('error', () => answer.abort());
}
