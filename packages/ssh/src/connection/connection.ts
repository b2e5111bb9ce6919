import type { Duplex } from 'node:stream';
import { protocolError, SshError } from '../error.ts';
import type { Transport } from '../transport/transport.ts';
import { firstConnectionMessage, message } from '../wire/messages.ts';
import { WireReader } from '../wire/reader.ts';
import { messageOf } from '../wire/writer.ts';
import { Channel, largestData, ownWindow, type RemoteEnd } from './channel.ts';
import { Session, type StartSession } from './session.ts';

const mostChannels = 256;

/** The reasons of SSH_MSG_CHANNEL_OPEN_FAILURE. */
const openFailures = { prohibited: 1, connectFailed: 2, unknownType: 3, shortage: 4 } as const;

/** A port that the client wants to reach from the server's side. */
export interface ForwardTarget {
  readonly host: string;
  readonly port: number;
}

/** Refuses a forward: the client's user may not have it. Other errors mean that the connection failed. */
export class ForwardProhibited extends Error {
  override readonly name = 'ForwardProhibited';
}

export interface ConnectionHandlers {
  readonly startSession: StartSession;
  /** Connects to a port. An error is shown to the client's user. */
  readonly connect: (target: ForwardTarget) => Promise<Duplex>;
}

type OpenChannel = { readonly channel: Channel; readonly session?: Session };

/** Authentication (RFC 4252) and channels (RFC 4254) of one client. */
export class Connection {
  readonly #transport: Transport;
  readonly #handlers: ConnectionHandlers;
  readonly #channels = new Map<number, OpenChannel | 'opening'>();
  #state: 'service' | 'authentication' | 'open' = 'service';
  #isOver = false;

  constructor(transport: Transport, handlers: ConnectionHandlers) {
    this.#transport = transport;
    this.#handlers = handlers;
  }

  handle(payload: Buffer): void {
    const number = payload[0]!;
    const reader = new WireReader(payload);
    reader.byte();
    if (number === message.serviceRequest) return this.#serve(reader.text());
    if (number === message.authenticationRequest) return this.#authenticate(reader);
    if (number >= firstConnectionMessage && this.#state !== 'open') throw protocolError(`message ${number} came before authentication`);
    switch (number) {
      case message.globalRequest:
        return this.#refuseGlobal(reader);
      case message.channelOpen:
        return this.#open(reader);
      case message.channelRequest:
        return this.#request(reader);
      case message.channelWindowAdjust:
      case message.channelData:
      case message.channelExtendedData:
      case message.channelEof:
      case message.channelClose:
        return this.#pass(number, reader);
      case message.requestSuccess:
      case message.requestFailure:
      case message.channelSuccess:
      case message.channelFailure:
        return;
      default:
        return this.#transport.sendUnimplemented();
    }
  }

  /** The output takes more again. */
  drained(): void {
    for (const one of this.#channels.values()) if (one !== 'opening') one.channel.pump();
  }

  close(): void {
    this.#isOver = true;
    for (const one of this.#channels.values()) if (one !== 'opening') one.channel.destroy();
    this.#channels.clear();
  }

  #serve(name: string): void {
    const isExpected = this.#state === 'service' ? name === 'ssh-userauth' : name === 'ssh-connection' && this.#state === 'open';
    if (!isExpected) throw new SshError('serviceNotAvailable', `there is no service ${JSON.stringify(name)} here`);
    if (this.#state === 'service') this.#state = 'authentication';
    this.#transport.send(messageOf(message.serviceAccept).string(name).finish());
  }

  /** The pipe to the client is its proof: only the user who started this process has the other end. */
  #authenticate(reader: WireReader): void {
    if (this.#state === 'service') throw protocolError('authentication came before its service was requested');
    if (this.#state === 'open') return;
    reader.string();
    const service = reader.text();
    const method = reader.text();
    if (service !== 'ssh-connection') throw new SshError('serviceNotAvailable', `there is no service ${JSON.stringify(service)} here`);
    if (method !== 'none') return this.#transport.send(messageOf(message.authenticationFailure).names(['none']).boolean(false).finish());
    this.#state = 'open';
    this.#transport.send(messageOf(message.authenticationSuccess).finish());
  }

  /** Such as listening for connections, which units do not do for clients. Keep-alives are content with any answer. */
  #refuseGlobal(reader: WireReader): void {
    reader.string();
    if (reader.boolean()) this.#transport.send(messageOf(message.requestFailure).finish());
  }

  #open(reader: WireReader): void {
    const type = reader.text();
    const remote: RemoteEnd = { id: reader.uint32(), window: reader.uint32(), largest: reader.uint32() };
    if (remote.largest === 0) throw protocolError('the client accepts no data on its channel');
    if (this.#channels.size >= mostChannels) return this.#refuseOpen(remote, 'shortage', `more than ${mostChannels} channels`);
    const id = this.#freeId();
    if (type === 'session') {
      const channel = this.#confirm(id, remote);
      this.#channels.set(id, { channel, session: new Session(channel, this.#handlers.startSession) });
    } else if (type === 'direct-tcpip') {
      const target = { host: reader.text(), port: reader.uint32() };
      this.#channels.set(id, 'opening');
      void this.#forward(id, remote, target);
    } else this.#refuseOpen(remote, 'unknownType', `there are no channels of type ${JSON.stringify(type)} here`);
  }

  async #forward(id: number, remote: RemoteEnd, target: ForwardTarget): Promise<void> {
    let far: Duplex;
    try {
      far = await this.#handlers.connect(target);
    } catch (error) {
      this.#channels.delete(id);
      const reason = error instanceof ForwardProhibited ? 'prohibited' : 'connectFailed';
      return this.#refuseOpen(remote, reason, (error as Error).message);
    }
    if (this.#isOver) return void far.destroy();
    const channel = this.#confirm(id, remote);
    this.#channels.set(id, { channel });
    join(channel, far);
  }

  #confirm(id: number, remote: RemoteEnd): Channel {
    const channel = new Channel(this.#transport, remote);
    channel.on('error', () => {});
    const confirmation = messageOf(message.channelOpenConfirmation).uint32(remote.id).uint32(id);
    this.#transport.send(confirmation.uint32(ownWindow).uint32(largestData).finish());
    return channel;
  }

  #refuseOpen({ id }: RemoteEnd, reason: keyof typeof openFailures, text: string): void {
    const refusal = messageOf(message.channelOpenFailure).uint32(id).uint32(openFailures[reason]);
    this.#transport.send(refusal.string(text).string('').finish());
  }

  #request(reader: WireReader): void {
    const { remote, channel, session } = this.#find(reader.uint32());
    const type = reader.text();
    const wantsReply = reader.boolean();
    if (channel.destroyed) return;
    const isGranted = session?.request(type, reader) === true;
    if (wantsReply)
      this.#transport.send(
        messageOf(isGranted ? message.channelSuccess : message.channelFailure)
          .uint32(remote)
          .finish(),
      );
  }

  #pass(number: number, reader: WireReader): void {
    const id = reader.uint32();
    const { channel } = this.#find(id);
    switch (number) {
      case message.channelWindowAdjust:
        return channel.widen(reader.uint32());
      case message.channelData:
        return channel.receive(reader.string());
      case message.channelExtendedData:
        throw protocolError('a client has no second output');
      case message.channelEof:
        return channel.receiveEnd();
      default:
        channel.destroy();
        this.#channels.delete(id);
    }
  }

  #find(id: number): OpenChannel & { readonly remote: number } {
    const found = this.#channels.get(id);
    if (found === undefined || found === 'opening') throw protocolError(`there is no channel ${id}`);
    return { ...found, remote: found.channel.remoteId };
  }

  #freeId(): number {
    let id = 0;
    while (this.#channels.has(id)) id++;
    return id;
  }
}

/** Until both directions have ended. */
function join(channel: Channel, far: Duplex): void {
  const finish = (): void => {
    if (channel.readableEnded && channel.writableFinished) channel.destroy();
  };
  channel.on('end', finish).on('finish', finish);
  channel.on('close', () => far.destroy());
  far.on('error', () => channel.destroy());
  far.on('close', () => {
    if (!channel.writableEnded) channel.end();
  });
  channel.pipe(far);
  far.pipe(channel);
}
