import type { KindReference } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery/objects';
import { noTracer, type Tracer, traced } from '../tracing/tracer.ts';
import { readText } from './body.ts';
import { ApiError } from './error.ts';
import type { RequestObserver } from './observer.ts';
import { Resource, type ResourceType } from './resource.ts';
import { defaultRetry, type Repeatable, type RetryOptions, withRetries } from './retry.ts';
import { defaultTimeouts, type Outgoing, type Received, type Timeouts, type Transport } from './transport.ts';

export interface ClientOptions {
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryOptions>;
  /** Shown in the server's audit log. */
  readonly userAgent?: string;
  /** Called for each `Warning` header of a response. */
  readonly onWarning?: (warning: string) => void;
  /** Called after each request, for metrics. */
  readonly onRequest?: RequestObserver;
  /** Traces each request. */
  readonly tracer?: Tracer;
}

export interface Call extends Outgoing {
  readonly repeatable?: Repeatable;
}

export interface Answer {
  readonly code: number;
  readonly text: string;
}

/** Where a server is. */
export interface Address {
  /** With a path, which is prefixed to every path: `https://host:6443/clusters/root:org`. */
  readonly server: string;
}

/** Talks to one server, as one user, through a transport. It needs neither Node nor a browser. */
export class RestClient<A extends Address = Address> implements Transport {
  readonly connection: A;
  readonly #transport: Transport;
  /** Computed when it is needed: controllers have a client for each workspace that they look at, and most of them send nothing. */
  #knownPrefix: string | undefined;
  readonly #options: ClientOptions;
  readonly #retry: RetryOptions;
  readonly #idle: number;
  #guard: (() => void) | undefined;

  constructor(connection: A, options: ClientOptions & { readonly transport: Transport }) {
    this.connection = connection;
    this.#options = options;
    this.#retry = { ...defaultRetry, ...options.retry };
    this.#idle = { ...defaultTimeouts, ...options.timeouts }.idle;
    this.#transport = options.transport;
  }

  /** A handle on all objects of a type. No code is generated: the type is described, and its shape is `T`. A reference of `@capstan/api` carries its shape. */
  resource<T extends KubeObject>(type: KindReference<T>): Resource<T>;
  resource<T extends KubeObject = KubeObject>(type: ResourceType): Resource<T>;
  resource<T extends KubeObject>(type: ResourceType): Resource<T> {
    return new Resource<T>(this, type, {});
  }

  /** The path of the server's address, prefixed to every path. */
  get #prefix(): string {
    return (this.#knownPrefix ??= new URL(this.connection.server).pathname.replace(/\/+$/, ''));
  }

  /** Whether it reads the objects of many workspaces at once. */
  get coversWorkspaces(): boolean {
    return this.#prefix.endsWith('/clusters/*');
  }

  /** The same user in another workspace of the same server: replaces `/clusters/<path>` in the server's address. */
  cluster(path: string): this {
    const server = `${this.connection.server.replace(/(\/clusters\/[^/]+)?\/*$/, '')}/clusters/${path}`;
    return this.#sibling({ ...this.connection, server }, this.#guard);
  }

  /** The same user at another path of the same server, such as that of a view: replaces the path of the server's address. */
  under(path: string): this {
    return this.#sibling(
      { ...this.connection, server: `${new URL(this.connection.server).origin}${path.replace(/\/+$/, '')}` },
      this.#guard,
    );
  }

  /** Calls `check` before every attempt to write; an exception from it is thrown instead of writing. */
  guarded(check: () => void): this {
    return this.#sibling(this.connection, check);
  }

  /** Shares the connections. */
  #sibling(connection: A, guard: (() => void) | undefined): this {
    const Same = this.constructor as new (connection: A, options: ClientOptions & { readonly transport: Transport }) => this;
    const sibling = new Same(connection, { ...this.#options, transport: this.#transport });
    sibling.#guard = guard;
    return sibling;
  }

  /** One attempt, with its response as it is and the body unread. */
  send(outgoing: Outgoing): Promise<Received> {
    const whole = this.#prefix === '' ? outgoing : { ...outgoing, path: this.#prefix + outgoing.path };
    const { onRequest, tracer } = this.#options;
    if (onRequest === undefined && tracer === undefined) return this.#transport.send(whole);
    return this.#observed(whole);
  }

  async #observed(outgoing: Outgoing): Promise<Received> {
    const { onRequest, tracer = noTracer } = this.#options;
    const { method, path } = outgoing;
    const attributes = {
      'http.request.method': method,
      'url.path': path.split('?')[0]!,
      'server.address': new URL(this.connection.server).host,
    };
    const began = performance.now();
    let code: number | undefined;
    try {
      return await traced(tracer, { name: method, attributes }, async (span) => {
        const answer = await this.#transport.send(outgoing);
        code = answer.code;
        span.setAttribute('http.response.status_code', code);
        return answer;
      });
    } finally {
      onRequest?.({ method, code, milliseconds: performance.now() - began });
    }
  }

  /** Any call, with a text response. Error responses are thrown as `ApiError`. */
  async raw(call: Call): Promise<Answer> {
    const repeatable = call.repeatable ?? (call.method === 'GET' ? 'read' : 'once');
    return withRetries(() => this.#attempt(call), { repeatable, signal: call.signal, retry: this.#retry });
  }

  /** Any call, with a JSON response. */
  async json<T>(call: Call): Promise<T> {
    const { text } = await this.raw(call);
    return JSON.parse(text) as T;
  }

  async #attempt(call: Call): Promise<Answer> {
    if (call.method !== 'GET') this.#guard?.();
    const answer = await this.send(call);
    const text = await readText(answer, call.timeouts?.idle ?? this.#idle);
    const { code } = answer;
    if (this.#options.onWarning !== undefined) this.#warn(answer.header('warning') ?? '');
    if (code < 200 || code > 299) throw ApiError.of(code, text, answer.header('retry-after'));
    return { code, text };
  }

  /** `299 - "text"`, several of them in one header or in many. */
  #warn(header: string): void {
    for (const [, quoted] of header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)) this.#options.onWarning?.(quoted!.replace(/\\(.)/g, '$1'));
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }
}
