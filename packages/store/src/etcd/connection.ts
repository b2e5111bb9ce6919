import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { StoreError } from '../contract.ts';
import { isServiceError, isTransient, isUnsent, toStoreError } from './failures.ts';

export interface TlsFiles {
  readonly ca: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

export interface Call<Response> {
  readonly path: string;
  readonly body: Buffer;
  readonly decode: (buffer: Buffer) => Response;
  /** Whether sending it twice does no harm. */
  readonly repeatable: boolean;
  /** For messages: "read /registry/…". */
  readonly doing: string;
}

const callTimeout = 10_000;
/** A member that hangs must not use up the time in which another could answer. */
const attemptTimeout = 3_000;
const probeInterval = 500;
const retryPause = 50;

const channelOptions = {
  // etcd refuses pings that are less than 5 s apart.
  'grpc.keepalive_time_ms': 6_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
} as const;

const identity = (buffer: Buffer): Buffer => buffer;

/** Calls to whichever member of the cluster answers. Stays with one until it fails, then goes on to the next. */
export class Connection {
  failure: StoreError | undefined;
  readonly #clients: Client[];
  readonly #metadata = new Metadata();
  readonly #requireLeader = new Metadata();
  readonly #probe: Call<unknown>;
  #active = 0;
  #calls = 0;
  #probeTimer: NodeJS.Timeout | undefined;
  #idle: (() => void) | undefined;
  #isClosed = false;

  /** `probe` is what is sent to find out whether the cluster answers again. */
  constructor(endpoints: readonly string[], options: { tls: TlsFiles | undefined; probe: Call<unknown> }) {
    this.#clients = endpoints.map((endpoint) => connect(endpoint, options.tls));
    this.#probe = options.probe;
    // Without it a member that lost its leader keeps a stream open and silent.
    this.#requireLeader.set('hasleader', 'true');
  }

  async call<Response>(call: Call<Response>): Promise<Response> {
    if (this.#isClosed) throw new StoreError('closed', 'the store was closed');
    this.#calls++;
    try {
      const response = await this.#callSomeMember(call);
      if (this.failure !== undefined) this.#recovered();
      return response;
    } catch (cause) {
      const error = toStoreError(cause, call.doing);
      if (error.code === 'unavailable' || error.code === 'readonly' || error.code === 'corrupt') this.#failed(error);
      throw error;
    } finally {
      this.#calls--;
      if (this.#calls === 0) this.#idle?.();
    }
  }

  /** A stream of messages to and from one member. */
  stream(path: string): ClientDuplexStream<Buffer, Buffer> {
    return this.#clients[this.#active]!.makeBidiStreamRequest(path, identity, identity, this.#requireLeader);
  }

  /** The member that served a stream failed: the next stream goes to another. */
  rotate(): void {
    this.#active = (this.#active + 1) % this.#clients.length;
  }

  /** Takes no more calls, and lets those that were made finish. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probeTimer);
    if (this.#calls > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  async #callSomeMember<Response>(call: Call<Response>): Promise<Response> {
    const end = Date.now() + callTimeout;
    const attempts = this.#clients.length * (call.repeatable ? 2 : 1);
    for (let attempt = 1; ; attempt++) {
      const member = this.#active;
      try {
        const mayMove = call.repeatable && this.#clients.length > 1 && attempt < attempts;
        return await this.#callOnce(member, call, mayMove ? Math.min(end, Date.now() + attemptTimeout) : end);
      } catch (error) {
        if (!isServiceError(error) || !isTransient(error)) throw error;
        if (member === this.#active) this.rotate();
        const mayRepeat = call.repeatable || isUnsent(error);
        if (!mayRepeat || attempt >= attempts || Date.now() + retryPause >= end) throw error;
        if (attempt >= this.#clients.length) await sleep(retryPause);
      }
    }
  }

  #callOnce<Response>(member: number, call: Call<Response>, deadline: number): Promise<Response> {
    return new Promise((resolve, reject) => {
      this.#clients[member]!.makeUnaryRequest(
        call.path,
        identity,
        call.decode,
        call.body,
        this.#metadata,
        { deadline },
        (error: ServiceError | null, response?: Response) => {
          if (error === null) resolve(response!);
          else reject(error);
        },
      );
    });
  }

  #failed(error: StoreError): void {
    this.failure = error;
    if (this.#isClosed || this.#probeTimer !== undefined) return;
    this.#probeTimer = setTimeout(() => {
      this.#probeTimer = undefined;
      // A failure of the probe schedules the next one.
      if (!this.#isClosed) this.call(this.#probe).catch(() => {});
    }, probeInterval);
  }

  #recovered(): void {
    this.failure = undefined;
    clearTimeout(this.#probeTimer);
    this.#probeTimer = undefined;
  }
}

function connect(endpoint: string, tls: TlsFiles | undefined): Client {
  const url = new URL(endpoint.includes('://') ? endpoint : `${tls === undefined ? 'http' : 'https'}://${endpoint}`);
  const port = url.port === '' ? '2379' : url.port;
  const secured = url.protocol === 'https:';
  const channel = secured ? credentials.createSsl(bytes(tls?.ca), bytes(tls?.key), bytes(tls?.cert)) : credentials.createInsecure();
  return new Client(`${url.hostname}:${port}`, channel, channelOptions);
}

function bytes(pem: string | Buffer | undefined): Buffer | null {
  return pem === undefined ? null : Buffer.from(pem);
}
