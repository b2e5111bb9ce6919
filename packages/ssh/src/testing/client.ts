import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { type Duplex, duplexPair } from 'node:stream';
import type { ConnectionHandlers } from '../connection/connection.ts';
import { HostKey } from '../host-key.ts';
import { serveSsh } from '../server.ts';
import { keyLengthOf, PacketCipher } from '../transport/cipher.ts';
import { derived, rawKey, sharedSecret } from '../transport/key-exchange.ts';
import { PacketReader, PacketWriter } from '../transport/packets.ts';
import { message } from '../wire/messages.ts';
import { WireReader } from '../wire/reader.ts';
import { messageOf, WireWriter } from '../wire/writer.ts';

export interface OfferOptions {
  readonly keyExchanges?: readonly string[];
  readonly hostKeys?: readonly string[];
  readonly ciphers?: readonly string[];
  readonly guesses?: boolean;
}

export interface OpenOptions {
  readonly own?: number;
  readonly window?: number;
  readonly largest?: number;
  /** The fields of the type. */
  readonly extra?: Buffer;
}

const cipher = 'aes256-gcm@openssh.com';
const version = 'SSH-2.0-Test';

const strictExchanges = ['curve25519-sha256', 'kex-strict-c-v00@openssh.com'];

export function clientOffer({
  keyExchanges = strictExchanges,
  hostKeys = ['ssh-ed25519'],
  ciphers = [cipher],
  guesses = false,
}: OfferOptions = {}): Buffer {
  const offer = messageOf(message.keyExchangeInit).bytes(randomBytes(16)).names(keyExchanges).names(hostKeys);
  for (const names of [ciphers, ciphers, [], [], ['none'], ['none'], [], []]) offer.names(names);
  return offer.boolean(guesses).uint32(0).finish();
}

const refuse = (): Promise<never> => Promise.reject(new Error('not expected'));

/** A client that says exactly what a test tells it to, also nonsense. */
export class TestClient {
  readonly hostKey = HostKey.generate();
  /** Settles with the session. */
  readonly ended: Promise<Error | undefined>;
  readonly stream: Duplex;
  readonly #reader = new PacketReader();
  readonly #writer = new PacketWriter();
  readonly #messages: AsyncIterator<Buffer>;
  #sessionId: Buffer | undefined;
  #serverVersion = '';

  constructor(handlers: Partial<ConnectionHandlers> = {}) {
    const [near, far] = duplexPair();
    this.stream = near;
    near.on('error', () => {});
    this.ended = serveSsh({
      input: far,
      output: far,
      hostKey: this.hostKey,
      software: 'Tested',
      startSession: refuse,
      connect: refuse,
      ...handlers,
    }).then(
      () => undefined,
      (error: Error) => error,
    );
    this.#messages = this.#receive();
  }

  /** A client after the first key exchange and authentication. */
  static async connected(handlers: Partial<ConnectionHandlers> = {}): Promise<TestClient> {
    const client = new TestClient(handlers);
    client.sendVersion();
    await client.exchange();
    client.send(messageOf(message.serviceRequest).string('ssh-userauth').finish());
    await client.expect(message.serviceAccept);
    client.send(messageOf(message.authenticationRequest).string('me').string('ssh-connection').string('none').finish());
    await client.expect(message.authenticationSuccess);
    return client;
  }

  sendVersion(): void {
    this.stream.write(`${version}\r\n`);
  }

  send(payload: Buffer): void {
    this.stream.write(this.#writer.packet(payload));
  }

  /** The next message; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    const { value, done } = await this.#messages.next();
    return done === true ? undefined : (value as Buffer);
  }

  /** A reader of the next message, behind its number. */
  async expect(number: number): Promise<WireReader> {
    const payload = await this.next();
    if (payload?.[0] !== number) throw new Error(`expected message ${number}, found ${payload?.[0]}: ${payload?.toString('latin1')}`);
    const reader = new WireReader(payload);
    reader.byte();
    return reader;
  }

  /** The text of the disconnect, which must be the next message but for those of the key exchange. */
  async disconnected(): Promise<string> {
    for (let payload = await this.next(); payload !== undefined; payload = await this.next()) {
      if (payload[0] !== message.disconnect) continue;
      const reader = new WireReader(payload);
      reader.bytes(5);
      return reader.text();
    }
    throw new Error('the server ended without a reason');
  }

  /** Exchanges keys, the first time or again. Fails if the signature is wrong. Calls `meanwhile` when the server has begun too. */
  async exchange(meanwhile: () => void = () => {}): Promise<void> {
    const offer = clientOffer();
    this.send(offer);
    const serverOffer = (await this.next())!;
    meanwhile();
    const own = generateKeyPairSync('x25519');
    this.send(messageOf(message.ecdhInit).string(rawKey(own.publicKey)).finish());
    const reply = await this.expect(message.ecdhReply);
    const [hostKey, serverKey] = [reply.string(), reply.string()];
    const secret = new WireWriter().multiplePrecision(sharedSecret(own.privateKey, serverKey)).finish();
    const transcript = new WireWriter().string(version).string(this.#serverVersion).string(offer).string(serverOffer).string(hostKey);
    const hash = createHash('sha256')
      .update(transcript.string(rawKey(own.publicKey)).string(serverKey).bytes(secret).finish())
      .digest();
    // Ed25519 signatures are deterministic.
    if (!reply.string().equals(this.hostKey.sign(hash))) throw new Error('the signature of the server is wrong');
    this.#sessionId ??= hash;
    const session = this.#sessionId;
    const cipherOf = (nonce: string, key: string): PacketCipher =>
      new PacketCipher(
        cipher,
        derived({ secret, hash, session, letter: key }, keyLengthOf(cipher)),
        derived({ secret, hash, session, letter: nonce }, 12),
      );
    await this.expect(message.newKeys);
    this.#reader.change(cipherOf('B', 'D'), { resetSequence: true });
    this.send(messageOf(message.newKeys).finish());
    this.#writer.change(cipherOf('A', 'C'));
  }

  /** Opens a channel, and returns the server's number of it. Ours is `own`. */
  async open(type: string, { own = 0, window = 1 << 20, largest = 32 << 10, extra = Buffer.alloc(0) }: OpenOptions = {}): Promise<number> {
    this.send(messageOf(message.channelOpen).string(type).uint32(own).uint32(window).uint32(largest).bytes(extra).finish());
    const confirmation = await this.expect(message.channelOpenConfirmation);
    confirmation.uint32();
    return confirmation.uint32();
  }

  /** Sends a request on a channel, and returns whether it was granted. */
  async request(channel: number, type: string, fields: WireWriter = new WireWriter()): Promise<boolean> {
    this.send(messageOf(message.channelRequest).uint32(channel).string(type).boolean(true).bytes(fields.finish()).finish());
    for (let payload = await this.next(); payload !== undefined; payload = await this.next()) {
      if (payload[0] === message.channelSuccess) return true;
      if (payload[0] === message.channelFailure) return false;
    }
    throw new Error('the server ended instead of answering a request');
  }

  sendData(channel: number, data: Buffer | string): void {
    this.send(messageOf(message.channelData).uint32(channel).string(data).finish());
  }

  async *#receive(): AsyncGenerator<Buffer, void, void> {
    let opening = Buffer.alloc(0);
    for await (const chunk of this.stream as AsyncIterable<Buffer>) {
      let packets = chunk;
      if (this.#serverVersion === '') {
        opening = Buffer.concat([opening, chunk]);
        const end = opening.indexOf('\r\n');
        if (end < 0) continue;
        this.#serverVersion = opening.toString('latin1', 0, end);
        packets = opening.subarray(end + 2);
      }
      this.#reader.push(packets);
      for (let payload = this.#reader.next(); payload !== undefined; payload = this.#reader.next()) yield payload;
    }
  }
}
