import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError } from '../contract.ts';
import { isTransient, toStoreError } from './failures.ts';
import { GrpcMember, type GrpcStream, type StreamHandler, type TlsFiles } from './grpc-member.ts';

export interface Call<Response> {
  readonly path: string;
  readonly body: Buffer;
  readonly decode: (buffer: Buffer) => Response;
  /** Whether it can safely be sent twice. */
  readonly repeatable: boolean;
  /** For messages: "read /registry/…". */
  readonly doing: string;
}

const callTimeout = 10_000;
/** A member that hangs must not use up the time in which another could answer. */
const attemptTimeout = 3_000;
const probeInterval = 500;
const retryPause = 50;
/** How long a call is retried: about as long as electing a new leader takes. */
const patience = 2_000;

/** Calls to any member of the cluster that answers. Stays with one until it fails, then moves on to the next. */
export class Connection {
  failure: StoreError | undefined;
  readonly #members: GrpcMember[];
  readonly #probe: Call<unknown>;
  #active = 0;
  #calls = 0;
  #probeTimer: NodeJS.Timeout | undefined;
  #idle: (() => void) | undefined;
  #isClosed = false;

  /** `probe` is sent to find out whether the cluster answers again. */
  constructor(endpoints: readonly string[], options: { tls: TlsFiles | undefined; probe: Call<unknown> }) {
    this.#members = endpoints.map((endpoint) => new GrpcMember(endpoint, options.tls));
    this.#probe = options.probe;
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
  stream(path: string, handler: StreamHandler): GrpcStream {
    return this.#members[this.#active]!.stream(path, handler);
  }

  /** The member that served a stream failed: the next stream uses another. */
  rotate(): void {
    this.#active = (this.#active + 1) % this.#members.length;
  }

  /** A stream broke: finds out whether the cluster still answers, since the next call may be far away. */
  check(): void {
    if (this.failure === undefined) this.call(this.#probe).catch(() => {});
  }

  /** Rejects new calls, and waits for the pending ones. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probeTimer);
    if (this.#calls > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  close(): void {
    for (const member of this.#members) member.close();
  }

  async #callSomeMember<Response>(call: Call<Response>): Promise<Response> {
    const start = Date.now();
    for (let attempt = 1; ; attempt++) {
      const member = this.#active;
      const mayMove = call.repeatable && attempt < this.#members.length;
      try {
        const answer = await this.#members[member]!.call(call.path, call.body, mayMove ? attemptTimeout : callTimeout);
        return call.decode(answer);
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (member === this.#active) this.rotate();
        if (!(call.repeatable || error.unsent) || Date.now() >= start + patience) throw error;
        if (attempt >= this.#members.length) await sleep(retryPause);
      }
    }
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
