import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { type Exchange, Http1Exchange, Http2Exchange } from './exchange.ts';

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: string;
  readonly key: string;
  /** Certificates of clients are asked for; who signed them is checked by authentication, not by TLS. */
  readonly clientCa: string;
  readonly handle: (exchange: Exchange) => void;
  readonly maxConnections?: number;
}

/** Time for a client to send its header, and to send all of its body. */
const headersTimeout = 10_000;
const requestTimeout = 60_000;
const maxHeaderSize = 64 << 10;

/**
 * One TLS port for HTTP/1.1 and HTTP/2. The protocol is chosen by ALPN; each connection then goes to the server of its protocol, so that neither pays for
 * the other.
 */
export class Listener implements AsyncDisposable {
  readonly #tls: TlsServer;
  readonly #http: HttpServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sockets = new Set<TLSSocket>();

  private constructor(options: ListenerOptions) {
    this.#http = createHttpServer(
      { headersTimeout, requestTimeout, connectionsCheckingInterval: 5_000, maxHeaderSize, keepAliveTimeout: 120_000, noDelay: true },
      (request, response) => options.handle(new Http1Exchange(request, response)),
    );
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
      ALPNProtocols: ['h2', 'http/1.1'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: 10_000,
      noDelay: true,
    });
    if (options.maxConnections !== undefined) this.#tls.maxConnections = options.maxConnections;
    this.#tls.on('secureConnection', (socket) => this.#connected(socket, options.handle));
    // A client that gives up in the handshake is no event for us.
    this.#tls.on('tlsClientError', () => {});
  }

  static async listen(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options);
    await new Promise<void>((resolve, reject) => {
      listener.#tls.once('error', reject);
      listener.#tls.listen(options.port, options.host, () => {
        listener.#tls.off('error', reject);
        resolve();
      });
    });
    return listener;
  }

  get port(): number {
    return (this.#tls.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** New connections use this certificate; those that are open keep theirs. */
  replaceCertificate(certificate: string, key: string, clientCa: string): void {
    this.#tls.setSecureContext({ cert: certificate, key, ca: clientCa, minVersion: 'TLSv1.2' });
  }

  /** Takes no new connections, lets requests finish for a while, then cuts what is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#tls.close(() => resolve()));
    this.#http.closeIdleConnections();
    for (const session of this.#sessions) session.close();
    const cut = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, 1500);
    await closed;
    clearTimeout(cut);
  }

  #connected(socket: TLSSocket, handle: (exchange: Exchange) => void): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    if (socket.alpnProtocol !== 'h2') {
      this.#http.emit('connection', socket);
      return;
    }
    const session = performServerHandshake(socket, {
      settings: { maxConcurrentStreams: 250, initialWindowSize: 1 << 20, maxHeaderListSize: maxHeaderSize },
    });
    this.#sessions.add(session);
    session.on('close', () => this.#sessions.delete(session));
    session.on('error', () => session.destroy());
    session.setTimeout(300_000, () => {
      session.ping((error) => {
        if (error) session.destroy();
      });
    });
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      stream.on('error', () => {});
      handle(new Http2Exchange(stream, headers, rawHeaders));
    });
  }
}
