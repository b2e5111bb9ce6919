import { createServer as createHttpServer, type Server as HttpServer, type IncomingMessage } from 'node:http';
import { performServerHandshake } from 'node:http2';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type Connection, type ConnectionTimeouts, defaultTimeouts } from './connection.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import type { Exchange } from './exchange.ts';
import { type HandshakeLimits, Handshakes } from './handshakes.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { asksToUpgrade, UpgradeExchange } from './upgrade-exchange.ts';

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: string;
  readonly key: string;
  /** Clients are asked for certificates; authentication verifies their issuer, not TLS. */
  readonly clientCa: string;
  readonly handle: (exchange: Exchange) => void;
  readonly limits: ConnectionLimits;
  readonly timeouts?: Partial<ConnectionTimeouts>;
  readonly now?: () => number;
  readonly handshakes?: Partial<HandshakeLimits>;
  /** Called for connections that cannot be accepted. The listener continues. */
  readonly onError: (error: Error) => void;
}

const maxHeaderSize = 64 << 10;
/** The protocols of both kinds of clients, best first. Those that name none speak HTTP/1.1. */
const spoken = ['h2', 'http/1.1'];
/** The first byte of a TLS handshake. */
const handshakeRecord = 22;
/** After this much silence, in milliseconds, the kernel probes for clients that have disappeared. */
const keepAliveAfter = 60_000;

const plainHttp = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/**
 * One TLS port for HTTP/1.1 and HTTP/2. ALPN selects the protocol; each connection is then passed to the server of its protocol,
 * so that neither pays for the other. Connections are accepted and counted before TLS: a silent client costs a socket and no TLS
 * state, and a client without TLS gets an error.
 */
export class Listener implements AsyncDisposable {
  readonly #options: ListenerOptions;
  readonly #front: NetServer;
  readonly #tls: TlsServer;
  readonly #http: HttpServer;
  readonly #connections: Connections;
  readonly #handshakes: Handshakes;
  /** By their two endpoints: TLS servers do not report which connection they have secured. */
  readonly #handshaking = new Map<string, Connection>();
  readonly #ofSocket = new WeakMap<object, Connection>();

  private constructor(options: ListenerOptions) {
    this.#options = options;
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    this.#connections = new Connections({ limits: options.limits, timeouts, ...(options.now && { now: options.now }) });
    if (options.limits.sockets !== undefined) options.limits.sockets.makeRoom = () => this.#connections.makeRoom();
    this.#handshakes = new Handshakes(options.handshakes);
    this.#front = createNetServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveAfter }, (raw) => this.#accept(raw));
    // This server never listens itself, so Node's own header and body timeouts never run; `Connections` implements them.
    // A request behind others that are not answered yet stays an ordinary one: the connection is not its own.
    const shouldUpgradeCallback = (request: IncomingMessage): boolean =>
      asksToUpgrade(request) && this.#ofSocket.get(request.socket)!.isIdle;
    const settings = { maxHeaderSize, keepAliveTimeout: timeouts.idle, noDelay: true, shouldUpgradeCallback };
    const handle = (exchange: Http1Exchange, connection: Connection): void => {
      connection.asked(exchange);
      options.handle(exchange);
    };
    this.#http = createHttpServer(settings, (request, response) => {
      const connection = this.#ofSocket.get(request.socket)!;
      handle(new Http1Exchange(request, response, connection), connection);
    });
    this.#http.on('upgrade', (request, socket, head) => {
      const connection = this.#ofSocket.get(socket)!;
      const exchange = UpgradeExchange.on({ socket: socket as TLSSocket, head }, request, connection);
      if (exchange === undefined) socket.destroy();
      else handle(exchange, connection);
    });
    this.#http.on('clientError', (_error, socket) => {
      if (socket.writable)
        socket.end('HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request');
    });
    this.#tls = createTlsServer({
      cert: options.certificate,
      key: options.key,
      ca: options.clientCa,
      requestCert: true,
      rejectUnauthorized: false,
      // Not as a list, of which Node keeps a copy for each connection, in a slice of a shared buffer of 64 KiB that lives as long as the connection.
      ALPNCallback: ({ protocols }) => spoken.find((protocol) => protocols.includes(protocol)),
      minVersion: 'TLSv1.2',
    });
    this.#tls.on('secureConnection', (socket) => this.#secured(socket));
    // A client that gives up during the handshake is not an error.
    this.#tls.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  static async listen(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#front.once('error', reject);
      listener.#front.listen(options.port, options.host, () => {
        listener.#front.off('error', reject);
        resolve();
      });
    });
    listener.#front.on('error', options.onError);
    return listener;
  }

  get port(): number {
    return (this.#front.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#connections.count;
  }

  /** Connections ended by the server, by reason. */
  get endedConnections(): ReadonlyMap<string, number> {
    return this.#connections.ended;
  }

  /** New connections use this certificate; open ones keep theirs. */
  replaceCertificate(certificate: string, key: string, clientCa: string): void {
    this.#tls.setSecureContext({ cert: certificate, key, ca: clientCa, minVersion: 'TLSv1.2' });
  }

  /** Accepts no new connections, lets requests finish for a while, then closes the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#front.close(() => resolve()));
    this.#connections.finishAll();
    const cut = setTimeout(() => this.#connections.destroyAll(), 1500);
    await closed;
    clearTimeout(cut);
    this.#connections[Symbol.dispose]();
    this.#handshakes[Symbol.dispose]();
  }

  #accept(raw: Socket): void {
    const connection = this.#connections.admit(raw);
    if (connection === undefined) return;
    raw.on('error', () => raw.destroy());
    raw.once('readable', () => {
      const first = raw.read() as Buffer | null;
      if (first === null) raw.destroy();
      else if (first[0] === handshakeRecord) this.#await(raw, first, connection);
      else refusePlain(raw, first);
    });
  }

  /** A handshake costs a millisecond of the event loop, so they take turns. */
  #await(raw: Socket, first: Buffer, connection: Connection): void {
    const start = (): void => {
      if (!raw.destroyed) this.#handshake(raw, first, connection);
    };
    if (this.#handshakes.request(connection.source, start)) return;
    this.#connections.refuse(connection);
  }

  #handshake(raw: Socket, first: Buffer, connection: Connection): void {
    const ends = endsOf(raw);
    this.#handshaking.set(ends, connection);
    raw.on('close', () => {
      if (this.#handshaking.get(ends) === connection) this.#handshaking.delete(ends);
    });
    raw.unshift(first);
    this.#tls.emit('connection', raw);
  }

  #secured(socket: TLSSocket): void {
    const ends = endsOf(socket);
    const connection = this.#handshaking.get(ends);
    this.#handshaking.delete(ends);
    socket.on('error', () => socket.destroy());
    // The connection was reset meanwhile.
    if (connection === undefined) return void socket.destroy();
    connection.secured(socket, this.#connections.clock);
    this.#ofSocket.set(socket, connection);
    if (socket.alpnProtocol === 'h2') this.#openSession(socket, connection);
    else this.#http.emit('connection', socket);
  }

  #openSession(socket: TLSSocket, connection: Connection): void {
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: 250, initialWindowSize: 1 << 20, maxHeaderListSize: maxHeaderSize },
    });
    connection.opened(session);
    session.on('error', () => session.destroy());
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      stream.on('error', () => {});
      const exchange = new Http2Exchange(stream, { headers, rawHeaders, socket }, connection);
      connection.askedOnStream(exchange);
      this.#options.handle(exchange);
    });
  }
}

const endsOf = ({ localAddress, remoteAddress, remotePort }: Socket): string => `${localAddress} ${remoteAddress} ${remotePort}`;

/** Responds as Go servers do. Discards further data from the client, which has to read the response within the handshake timeout. */
function refusePlain(raw: Socket, first: Buffer): void {
  const isLetter = first[0]! >= 0x41 && first[0]! <= 0x5a;
  if (!isLetter) return void raw.destroy();
  raw.resume();
  raw.end(plainHttp);
}
