import { ConnectionError } from '../rest/error.ts';
import { defaultTimeouts, type Outgoing, type Received, type Timeouts, type Transport } from '../rest/transport.ts';

export interface FetchOptions {
  readonly timeouts?: Partial<Timeouts>;
  /** The value of the `Authorization` header; undefined if a cookie authenticates, or nothing does. Asked for before every request. */
  readonly authorization?: () => string | undefined | Promise<string | undefined>;
}

/** Sends requests with `fetch`, for browsers. The browser pools connections, checks certificates and sets its own `User-Agent`. */
export class FetchTransport implements Transport {
  readonly #origin: string;
  readonly #options: FetchOptions;
  readonly #timeouts: Timeouts;

  constructor(server: string, options: FetchOptions = {}) {
    this.#origin = new URL(server).origin;
    this.#options = options;
    this.#timeouts = { ...defaultTimeouts, ...options.timeouts };
  }

  async send(outgoing: Outgoing): Promise<Received> {
    const { method, path, headers, body, signal, timeouts } = outgoing;
    const { connect, response } = { ...this.#timeouts, ...timeouts };
    const authorization = await this.#options.authorization?.();
    const stop = new AbortController();
    const late = setTimeout(
      () => stop.abort(new ConnectionError('response-timeout', `${method} ${path} was not answered`)),
      connect + response,
    );
    const either = signal == null ? stop.signal : AbortSignal.any([signal, stop.signal]);
    try {
      const answer = await fetch(this.#origin + path, {
        method,
        headers: { ...headers, ...(authorization !== undefined && { authorization }) },
        ...(body !== undefined && { body }),
        signal: either,
        cache: 'no-store',
      });
      return new FetchReceived(answer, stop, either);
    } catch (error) {
      if (signal?.aborted === true || error instanceof ConnectionError) throw error;
      throw new ConnectionError('failed', `${method} ${this.#origin}${path} failed: ${(error as Error).message}`, error);
    } finally {
      clearTimeout(late);
    }
  }

  /** The browser owns the connections. */
  [Symbol.dispose](): void {}
}

class FetchReceived implements Received {
  readonly code: number;
  readonly #answer: Response;
  readonly #stop: AbortController;
  readonly #signal: AbortSignal;

  constructor(answer: Response, stop: AbortController, signal: AbortSignal) {
    this.#signal = signal;
    this.code = answer.status;
    this.#answer = answer;
    this.#stop = stop;
  }

  header(name: string): string | undefined {
    return this.#answer.headers.get(name) ?? undefined;
  }

  async read(idle: number, onText: Parameters<Received['read']>[1]): Promise<void> {
    const decoder = new TextDecoder();
    await this.readBytes(idle, (bytes) => {
      const text = decoder.decode(bytes, { stream: true });
      return text === '' ? undefined : onText(text);
    });
    const rest = decoder.decode();
    if (rest !== '') await onText(rest);
  }

  async readBytes(idle: number, onBytes: Parameters<Received['readBytes']>[1]): Promise<void> {
    const reader = this.#answer.body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const timer = setTimeout(
          () => this.#stop.abort(new ConnectionError('idle-timeout', `the response was silent for ${idle} ms`)),
          idle,
        );
        const { done, value } = await reader.read().finally(() => clearTimeout(timer));
        if (done) return;
        const pause = onBytes(value);
        if (pause !== undefined) await unlessAborted(pause, this.#signal);
      }
    } catch (error) {
      if (error instanceof ConnectionError || (error as Error).name === 'AbortError') throw error;
      throw new ConnectionError('failed', `the response was interrupted: ${(error as Error).message}`, error);
    } finally {
      reader.releaseLock();
    }
  }

  destroy(): void {
    this.#stop.abort(new ConnectionError('failed', 'the response was interrupted'));
  }
}

/** Nothing is read while the reader pauses, so nothing but the signal would tell that it has left. */
function unlessAborted(pause: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    void pause.then(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
  });
}
