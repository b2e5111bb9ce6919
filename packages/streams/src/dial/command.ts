import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { type ChannelMessage, channel, longestMessage, waitingMessages } from '../remote-command/channels.ts';
import { defaultPatience, refusalOf, StreamLost, type StreamServer } from './upgrade.ts';

const protocol = 'v5.channel.k8s.io';
/** Bytes of one message: less than servers accept. */
const longestPart = 256 << 10;

export interface CommandDialOptions extends StreamServer {
  /** Milliseconds between two pings. A server that is silent for six times as long is given up. */
  readonly pingEvery?: number;
}

/** Begins a command (exec or attach) at a server. Rejects with `UpgradeRefused` if the server says no, and with `StreamLost` if it cannot be reached. */
export function dialCommand({ url, headers, tls, signal, patience, pingEvery = 10_000 }: CommandDialOptions): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const webSocket = new WebSocket(url.replace(/^http/, 'ws'), [protocol], {
      headers: { ...headers },
      ...tls,
      handshakeTimeout: patience ?? defaultPatience,
      maxPayload: 2 * longestMessage,
      perMessageDeflate: false,
      skipUTF8Validation: true,
    });
    const leave = (): void => webSocket.terminate();
    signal?.addEventListener('abort', leave, { once: true });
    const settle = (): void => signal?.removeEventListener('abort', leave);
    webSocket.once('unexpected-response', (_request, response: IncomingMessage) => {
      settle();
      void refusalOf(response).then(reject);
    });
    webSocket.on('error', (error) => {
      settle();
      reject(signal?.aborted === true ? (signal.reason as Error) : new StreamLost(error.message, { cause: error }));
    });
    webSocket.once('open', () => {
      settle();
      resolve(new ClientChannels(webSocket, { signal, pingEvery }));
    });
    if (signal?.aborted === true) leave();
  });
}

/** The client's end of a command. It ends after the status, which is the last message, or is destroyed with `StreamLost`. */
class ClientChannels extends Duplex {
  readonly #webSocket: WebSocket;
  readonly #timer: NodeJS.Timeout;
  #isOver = false;
  #heardAt = performance.now();

  constructor(webSocket: WebSocket, { signal, pingEvery }: { signal: AbortSignal | undefined; pingEvery: number }) {
    super({ objectMode: true, highWaterMark: waitingMessages, allowHalfOpen: false });
    this.#webSocket = webSocket;
    webSocket.on('message', (data: Buffer) => this.#receive(data));
    webSocket.on('pong', () => (this.#heardAt = performance.now()));
    webSocket.on('error', (error) => this.destroy(new StreamLost(error.message, { cause: error })));
    webSocket.on('close', (code) => {
      if (this.#isOver) this.push(null);
      else this.destroy(new StreamLost(code === 1001 ? 'the server is stopping' : 'the connection was lost'));
    });
    this.#timer = setInterval(() => this.#ping(pingEvery * 6), pingEvery);
    const leave = (): void => void this.destroy();
    signal?.addEventListener('abort', leave, { once: true });
    this.once('close', () => signal?.removeEventListener('abort', leave));
  }

  #receive(data: Buffer): void {
    this.#heardAt = performance.now();
    if (data.length === 0 || this.destroyed) return;
    const message: ChannelMessage = { channel: data[0]!, payload: data.subarray(1) };
    if (message.channel === channel.error) this.#isOver = true;
    else if (message.payload.length === 0) return;
    if (!this.push(message)) this.#webSocket.pause();
  }

  /** Pings are not answered while the command does not read its input, nor read while our own reader waits. */
  #ping(longestSilence: number): void {
    if (this.#webSocket.isPaused || this.#webSocket.bufferedAmount > 0) this.#heardAt = performance.now();
    if (performance.now() - this.#heardAt > longestSilence) this.destroy(new StreamLost('the server does not answer'));
    else if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket.ping();
  }

  override _read(): void {
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  override _write(message: ChannelMessage, _encoding: string, done: (error?: Error) => void): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return done();
    const { payload } = message;
    const part = payload.subarray(0, longestPart);
    const bytes = Buffer.allocUnsafe(1 + part.length);
    bytes[0] = message.channel;
    part.copy(bytes, 1);
    this.#webSocket.send(bytes, () => {
      // A failure shows in the end of the connection.
      if (part.length === payload.length) done();
      else this._write({ channel: message.channel, payload: payload.subarray(part.length) }, _encoding, done);
    });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer);
    if (this.#isOver) this.#webSocket.close(1000);
    else this.#webSocket.terminate();
    done(error);
  }
}
