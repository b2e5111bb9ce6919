import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { readBounded } from '../../http/bounded.ts';
import { networkFailure } from '../../http/network-failure.ts';
import { trusting } from '../../http/trust.ts';

/** How to connect to a webhook. */
export interface WebhookConnection {
  /** Including the path. */
  readonly url: string;
  /** PEM of the authorities that may have signed the webhook's certificate; defaults to those of the system. */
  readonly authorities?: string | Buffer;
  /** Accepts any certificate. */
  readonly insecure?: boolean;
  /** The name that the certificate must have, if not the host of the URL. */
  readonly serverName?: string;
  /** The credentials that the server presents. Requested for each call. */
  readonly credentials: () => WebhookCredential | Promise<WebhookCredential>;
}

export interface WebhookCredential {
  /** The value of the `Authorization` header. */
  readonly authorization?: string;
  readonly certificate?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

/** Far larger than any response. */
const answerLimit = 1 << 20;
/** The limits on concurrent calls, and on calls that wait for one of them to end. */
const mostConnections = 128;
const mostWaiting = 10_000;
const backoff = { first: 500, factor: 1.5, jitter: 0.2 } as const;

/** A failed call. Some failures are retried. */
class Failure extends Error {
  readonly isPassing: boolean;

  constructor(message: string, isPassing: boolean) {
    super(message);
    this.isPassing = isPassing;
  }
}

export interface PosterOptions {
  readonly connection: WebhookConnection;
  /** Per attempt, in milliseconds. */
  readonly timeout: number;
  /** Five by default. */
  readonly attempts?: number;
  readonly userAgent?: string;
  readonly random?: () => number;
  readonly pause?: (milliseconds: number) => Promise<void>;
}

/** Posts to one webhook. Redirects are not followed: the operator decides who authorizes requests, not a response. */
export class Poster implements Disposable {
  readonly #options: Required<PosterOptions>;
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  #open = 0;

  constructor(options: PosterOptions) {
    this.#options = {
      attempts: 5,
      userAgent: 'capstan-authorization',
      random: Math.random,
      pause: (milliseconds) => delay(milliseconds),
      ...options,
    };
    this.#url = new URL(options.connection.url);
    const settings = { keepAlive: true, maxSockets: mostConnections, maxFreeSockets: 16 };
    this.#agent = this.#url.protocol === 'http:' ? new HttpAgent(settings) : new HttpsAgent(settings);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /**
   * Returns the body of the response. Throws a one-line reason on failure. Calls that fail temporarily are tried again,
   * with growing pauses.
   */
  async post(body: string): Promise<string> {
    if (this.#open >= mostWaiting) throw this.#named(new Error(`${mostWaiting} calls are already waiting for an answer`));
    this.#open++;
    try {
      return await this.#persistently(body);
    } catch (error) {
      throw this.#named(error);
    } finally {
      this.#open--;
    }
  }

  #named(error: unknown): Error {
    return new Error(`Post ${JSON.stringify(this.#url.href)}: ${error instanceof Error ? error.message : String(error)}`);
  }

  async #persistently(body: string): Promise<string> {
    const { random, pause, attempts } = this.#options;
    let wait: number = backoff.first;
    for (let step = 1; ; step++) {
      try {
        return await this.#once(body);
      } catch (error) {
        if (!(error instanceof Failure) || !error.isPassing || step >= attempts) throw error;
      }
      await pause(wait * (1 + random() * backoff.jitter));
      wait *= backoff.factor;
    }
  }

  async #once(body: string): Promise<string> {
    const { connection, timeout } = this.#options;
    const signal = AbortSignal.timeout(timeout);
    const credential = await connection.credentials();
    try {
      return await this.#send(body, credential, signal);
    } catch (error) {
      if (error instanceof Failure) throw error;
      if (signal.aborted) throw new Failure(`no answer within ${timeout / 1000} s (context deadline exceeded)`, false);
      throw new Failure(networkFailure(error), (error as NodeJS.ErrnoException).code === 'ECONNRESET');
    }
  }

  #send(body: string, { authorization, certificate }: WebhookCredential, signal: AbortSignal): Promise<string> {
    const { authorities, insecure, serverName } = this.#options.connection;
    const secure =
      this.#url.protocol === 'http:'
        ? {}
        : {
            ...(authorities !== undefined && trusting(authorities)),
            ...(insecure === true && { rejectUnauthorized: false }),
            ...(serverName !== undefined && { servername: serverName }),
            ...certificate,
          };
    return new Promise((resolve, reject) => {
      const outgoing = (this.#url.protocol === 'http:' ? httpRequest : httpsRequest)(this.#url, {
        agent: this.#agent,
        method: 'POST',
        signal,
        ...secure,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'user-agent': this.#options.userAgent,
          'content-length': Buffer.byteLength(body),
          ...(authorization !== undefined && { authorization }),
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        read(incoming).then(resolve, reject);
      });
      outgoing.end(body);
    });
  }
}

async function read(incoming: IncomingMessage): Promise<string> {
  const { statusCode = 0, headers } = incoming;
  if (statusCode < 200 || statusCode > 299) {
    incoming.destroy();
    throw refusal(statusCode, headers['retry-after'] !== undefined);
  }
  return (await readBounded(incoming, answerLimit)).toString();
}

function refusal(code: number, saysWhen: boolean): Failure {
  if (code >= 300 && code < 400) return new Failure(`answered with status ${code}; redirects are not followed`, false);
  return new Failure(`answered with status ${code}`, saysWhen || code === 500 || code === 504 || code === 429);
}
