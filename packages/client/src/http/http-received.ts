import type { IncomingMessage } from 'node:http';
import { ConnectionError } from '../rest/error.ts';
import type { Received } from '../rest/transport.ts';

/** A response of Node's HTTP client. */
export class HttpReceived implements Received {
  readonly #message: IncomingMessage;

  constructor(message: IncomingMessage) {
    this.#message = message;
  }

  get code(): number {
    return this.#message.statusCode ?? 0;
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  read(idle: number, onText: Parameters<Received['read']>[1]): Promise<void> {
    this.#message.setEncoding('utf8');
    return this.#read(idle, onText);
  }

  readBytes(idle: number, onBytes: Parameters<Received['readBytes']>[1]): Promise<void> {
    return this.#read(idle, onBytes);
  }

  #read<Chunk>(idle: number, onChunk: (chunk: Chunk) => Promise<void> | undefined | void): Promise<void> {
    const message = this.#message;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        message.destroy(new ConnectionError('idle-timeout', `the response was silent for ${idle} ms`));
      }, idle);
      message.on('data', (chunk: Chunk) => {
        timer.refresh();
        const pause = onChunk(chunk);
        if (pause === undefined) return;
        message.pause();
        void pause.then(() => message.resume());
      });
      message.on('end', () => {
        clearTimeout(timer);
        resolve();
      });
      message.on('error', (error) => {
        clearTimeout(timer);
        const known = error instanceof ConnectionError || error.name === 'AbortError';
        reject(known ? error : new ConnectionError('failed', `the response was interrupted: ${error.message}`, error));
      });
      message.on('close', () => {
        clearTimeout(timer);
        if (!message.readableEnded) reject(new ConnectionError('failed', 'the response was interrupted'));
      });
    });
  }

  destroy(): void {
    this.#message.destroy();
  }
}
