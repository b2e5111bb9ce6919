import type { Readable, Writable } from 'node:stream';
import { disconnectReasons, protocolError, SshError } from '../error.ts';
import type { HostKey } from '../host-key.ts';
import { message } from '../wire/messages.ts';
import { messageOf } from '../wire/writer.ts';
import { type Exchanged, exchangeKeys } from './key-exchange.ts';
import { type Agreement, agree, readOffer, serverOffer } from './negotiation.ts';
import { PacketReader, PacketWriter } from './packets.ts';
import { readVersion } from './version.ts';

export interface TransportOptions {
  readonly input: Readable;
  readonly output: Writable;
  readonly hostKey: HostKey;
  /** The name of this program, without spaces and minus signs. */
  readonly software: string;
  /** Gets every message above the transport. A thrown `SshError` ends the session. */
  readonly onMessage: (payload: Buffer) => void;
  /** The output takes more again. */
  readonly onDrain: () => void;
  /** Called once. Without an error if the client has left. */
  readonly onEnd: (error: Error | undefined) => void;
}

/** The message that the client must send next for keys; `none` between two exchanges. */
type Awaited = 'offer' | 'publicKey' | 'newKeys' | 'none';

/** The server's end of the transport layer (RFC 4253): versions, key exchanges and encrypted packets. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #reader = new PacketReader();
  readonly #writer = new PacketWriter();
  readonly #version: string;
  /** Bytes before the client's version is complete. */
  #opening: Buffer | undefined = Buffer.alloc(0);
  #clientVersion = '';
  #awaited: Awaited = 'offer';
  /** Our offer, from sending it to the new keys. Meanwhile, other messages wait. */
  #offer: Buffer | undefined;
  #clientOffer: Buffer = Buffer.alloc(0);
  #agreement: Agreement | undefined;
  #exchanged: Exchanged | undefined;
  /** Of the whole session: later offers do not change it. */
  #isStrict = false;
  #hasKeys = false;
  #held: Buffer[] = [];
  #isOver = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#version = `SSH-2.0-${options.software}`;
    const { input, output } = options;
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    input.once('end', () => this.#end(undefined));
    input.once('close', () => this.#end(undefined));
    for (const stream of [input, output]) stream.on('error', (error: Error) => this.#end(error));
    output.on('drain', () => {
      if (this.#isOver) return;
      input.resume();
      options.onDrain();
    });
    output.write(`${this.#version}\r\n`);
    this.#sendOffer();
  }

  /** Whether data should wait: the output is full, or keys are being exchanged. */
  get isBusy(): boolean {
    return this.#offer !== undefined || this.#options.output.writableNeedDrain;
  }

  /** Sends a message, after the exchange of keys if one is under way. */
  send(payload: Buffer): void {
    if (this.#isOver) return;
    if (this.#offer === undefined) this.#write(payload);
    else this.#held.push(payload);
  }

  /** Answers the message that is being handled, whose number we do not know. */
  sendUnimplemented(): void {
    this.send(
      messageOf(message.unimplemented)
        .uint32((this.#reader.sequence - 1) >>> 0)
        .finish(),
    );
  }

  /** Says goodbye. */
  close(error: SshError): void {
    if (this.#isOver) return;
    this.#write(messageOf(message.disconnect).uint32(disconnectReasons[error.reason]).string(error.message).string('').finish());
    this.#end(error);
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held = [];
    this.#options.input.pause();
    this.#options.output.end();
    this.#options.onEnd(error);
  }

  #write(payload: Buffer): void {
    // A client that asks without reading the answers has to wait.
    if (!this.#options.output.write(this.#writer.packet(payload))) this.#options.input.pause();
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      const packets = this.#opening === undefined ? chunk : this.#openWith(Buffer.concat([this.#opening, chunk]));
      if (packets === undefined) return;
      this.#reader.push(packets);
      for (let payload = this.#reader.next(); payload !== undefined && !this.#isOver; payload = this.#reader.next()) this.#handle(payload);
    } catch (error) {
      this.close(error instanceof SshError ? error : new SshError('byApplication', (error as Error).message, error));
    }
  }

  #openWith(bytes: Buffer): Buffer | undefined {
    this.#opening = bytes;
    const read = readVersion(bytes);
    if (read === undefined) return undefined;
    this.#opening = undefined;
    this.#clientVersion = read.version;
    return read.rest;
  }

  #handle(payload: Buffer): void {
    const number = payload[0];
    if (number === message.disconnect) return this.#end(undefined);
    // With `isStrict`, nothing may be slipped in before the first keys, so that no packet can be removed unnoticed after them.
    const isQuiet = this.#isStrict && !this.#hasKeys;
    if (!isQuiet && (number === message.ignore || number === message.debug || number === message.unimplemented)) return;
    switch (this.#awaited) {
      case 'offer':
        this.#expect(number, message.keyExchangeInit);
        return this.#receiveOffer(payload);
      case 'publicKey':
        if (this.#agreement!.ignoresNext) {
          this.#agreement = { ...this.#agreement!, ignoresNext: false };
          return;
        }
        this.#expect(number, message.ecdhInit);
        return this.#receivePublicKey(payload);
      case 'newKeys':
        this.#expect(number, message.newKeys);
        return this.#receiveNewKeys();
      case 'none':
        if (number === message.keyExchangeInit) return this.#receiveOffer(payload);
        if (number === message.extensionInfo) return;
        return this.#options.onMessage(payload);
    }
  }

  #expect(found: number | undefined, expected: number): void {
    if (found !== expected) throw protocolError(`expected message ${expected} of the key exchange, found ${found}`);
  }

  #sendOffer(): void {
    const offer = serverOffer();
    this.#write(offer);
    this.#offer = offer;
  }

  #receiveOffer(payload: Buffer): void {
    const isFirst = this.#exchanged === undefined;
    this.#agreement = agree(readOffer(payload));
    if (isFirst) this.#isStrict = this.#agreement.isStrict;
    if (isFirst && this.#isStrict && this.#reader.sequence !== 1) throw protocolError('expected the key exchange to be the first message');
    if (this.#offer === undefined) this.#sendOffer();
    this.#clientOffer = payload;
    this.#awaited = 'publicKey';
  }

  #receivePublicKey(payload: Buffer): void {
    const transcript = {
      clientVersion: this.#clientVersion,
      serverVersion: this.#version,
      clientOffer: this.#clientOffer,
      serverOffer: this.#offer!,
    };
    const { hostKey } = this.#options;
    const exchanged = exchangeKeys(payload, { transcript, hostKey, sessionId: this.#exchanged?.sessionId });
    this.#write(exchanged.reply);
    this.#write(messageOf(message.newKeys).finish());
    this.#writer.change(exchanged.cipher('toClient', this.#agreement!.cipherToClient));
    this.#exchanged = exchanged;
    this.#awaited = 'newKeys';
  }

  #receiveNewKeys(): void {
    this.#reader.change(this.#exchanged!.cipher('toServer', this.#agreement!.cipherToServer), { resetSequence: this.#isStrict });
    this.#hasKeys = true;
    this.#awaited = 'none';
    this.#offer = undefined;
    for (const payload of this.#held.splice(0)) this.#write(payload);
    this.#options.onDrain();
  }
}
