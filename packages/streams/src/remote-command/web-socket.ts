import { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { mostWaiting, TurnTaker } from '../turns.ts';
import { sendAfterByte } from '../web-socket/send.ts';
import { type ChannelMessage, channel, errorText, waitingMessages } from './channels.ts';

/** The subprotocols of exec and attach, best first. The last is that of clients that name none. */
export const commandProtocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
  '',
] as const;
export type CommandProtocol = (typeof commandProtocols)[number];

const normalClosure = 1000;
const zero = 0x30;

/** The subprotocol for a client that offers these; undefined if it offers only unknown ones. */
export function chooseCommandProtocol(offered: readonly string[]): CommandProtocol | undefined {
  if (offered.length === 0) return '';
  return commandProtocols.find((protocol) => protocol !== '' && offered.includes(protocol));
}

/** The server's end of a command whose client uses a WebSocket. */
export class WebSocketChannels extends Duplex {
  readonly #webSocket: WebSocket;
  readonly #protocol: CommandProtocol;

  constructor(webSocket: WebSocket, protocol: CommandProtocol) {
    super({ objectMode: true, highWaterMark: waitingMessages });
    this.#webSocket = webSocket;
    this.#protocol = protocol;
    const turns = new TurnTaker<ChannelMessage>((messages) => {
      let hasRoom = true;
      for (const message of messages) hasRoom = this.destroyed || this.push(message);
      if (!hasRoom) webSocket.pause();
      else if (webSocket.isPaused) webSocket.resume();
    });
    webSocket.on('message', (data: Buffer) => {
      const message = this.#decode(data);
      if (message === undefined) return;
      turns.add(message, data.length);
      if (turns.bytes >= mostWaiting) webSocket.pause();
    });
    webSocket.on('error', (error) => this.destroy(error));
    webSocket.on('close', () => {
      turns.flush();
      this.destroy();
    });
    // Some clients wait for a first message to know that the command has started.
    this.#send({ channel: channel.stdout, payload: Buffer.alloc(0) }, () => {});
  }

  get #isBase64(): boolean {
    return this.#protocol.includes('base64');
  }

  /** Clients send only stdin, resize and, since v5, close. Everything else is ignored, as in Kubernetes. */
  #decode(data: Buffer): ChannelMessage | undefined {
    if (data.length === 0) return undefined;
    const number = this.#isBase64 ? data[0]! - zero : data[0]!;
    const isKnown = number === channel.stdin || number === channel.resize || (number === channel.close && this.#protocol.startsWith('v5'));
    if (!isKnown) return undefined;
    const payload = data.subarray(1);
    return { channel: number, payload: this.#isBase64 ? Buffer.from(payload.toString('latin1'), 'base64') : payload };
  }

  #send({ channel: number, payload }: ChannelMessage, done: (error?: Error) => void): void {
    if (this.#isBase64) this.#webSocket.send(`${number}${payload.toString('base64')}`, (error) => done(error ?? undefined));
    else sendAfterByte(this.#webSocket, number, payload, done);
  }

  override _read(): void {
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  override _write(message: ChannelMessage, _encoding: string, done: (error?: Error) => void): void {
    // The end of stdout and stderr shows in the end of the connection.
    if (message.channel === channel.close) return done();
    const isOld = !this.#protocol.startsWith('v') && message.channel === channel.error;
    const text = isOld ? errorText(message.payload) : undefined;
    if (text === '') return done();
    const sent = text === undefined ? message : { channel: channel.error, payload: Buffer.from(text) };
    this.#send(sent, done);
  }

  override _final(done: () => void): void {
    this.#webSocket.close(normalClosure);
    // The client's answer must be read, even if nobody reads its messages.
    this.#webSocket.resume();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#webSocket.terminate();
    done(error);
  }
}
