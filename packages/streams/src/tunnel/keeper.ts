import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import { type AnsweringOptions, type AnsweringTunnel, answerTunnel } from './answering.ts';

export interface KeeperOptions extends AnsweringOptions {
  readonly dial: (signal: AbortSignal) => Promise<Duplex>;
  readonly backoff?: BackoffOptions;
  /** A tunnel that lived for less than this, in milliseconds, counts as a failure. */
  readonly steadyAfter?: number;
  readonly onConnected?: () => void;
  /** Called when a tunnel cannot be opened, or ends. */
  readonly onDisconnected?: (error: unknown) => void;
}

/** Keeps one tunnel open until it is disposed of: dials again when it ends, and waits longer after each failure. */
export class TunnelKeeper implements AsyncDisposable {
  readonly #options: KeeperOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  readonly #tunnels = new Set<AnsweringTunnel>();
  readonly #done: Promise<void>;
  #again = Promise.withResolvers<void>();
  #current: AnsweringTunnel | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.backoff ?? { base: 500, max: 30_000, random: Math.random });
    this.#done = this.#run();
  }

  get isConnected(): boolean {
    return this.#current !== undefined;
  }

  /** Opens another tunnel in place of the present one, whose streams may finish: for new credentials. */
  redial(): void {
    this.#again.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
    await Promise.all([...this.#tunnels].map((tunnel) => tunnel[Symbol.asyncDispose]()));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      const began = performance.now();
      try {
        const tunnel = await this.#open();
        const isReplaced = await Promise.race([
          tunnel.ended.then(() => false),
          this.#again.promise.then(() => true),
          stopped.then(() => false),
        ]);
        this.#current = undefined;
        if (!isReplaced && !signal.aborted) this.#options.onDisconnected?.(undefined);
        if (isReplaced) continue;
        if (performance.now() - began >= (this.#options.steadyAfter ?? 10_000)) this.#backoff.reset();
      } catch (error) {
        if (!signal.aborted) this.#options.onDisconnected?.(error);
      }
      await sleep(this.#backoff.next(), undefined, { signal }).catch(() => {});
    }
  }

  async #open(): Promise<AnsweringTunnel> {
    this.#again = Promise.withResolvers<void>();
    const socket = await this.#options.dial(this.#stop.signal);
    const tunnel = await answerTunnel(socket, this.#options);
    this.#tunnels.add(tunnel);
    void tunnel.closed.then(() => this.#tunnels.delete(tunnel));
    this.#current = tunnel;
    this.#options.onConnected?.();
    return tunnel;
  }
}
