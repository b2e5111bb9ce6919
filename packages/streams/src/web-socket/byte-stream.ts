import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

const normalClosure = 1000;

/** The binary messages of a WebSocket as one byte stream in each direction. */
export class WebSocketByteStream extends Duplex {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    super();
    this.#webSocket = webSocket;
    webSocket.on('message', (data: Buffer) => {
      if (!this.destroyed && !this.push(data)) webSocket.pause();
    });
    webSocket.on('error', (error) => this.destroy(error));
    webSocket.on('close', () => {
      this.push(null);
      this.end();
    });
  }

  override _read(): void {
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#webSocket.send(chunk, { binary: true }, (error) => done(error ?? undefined));
  }

  override _final(done: () => void): void {
    this.#webSocket.close(normalClosure);
    // The peer's answer must be read, even if nobody reads its messages.
    this.#webSocket.resume();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#webSocket.terminate();
    done(error);
  }
}
