import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { GrpcError, grpcStatus } from './grpc-error.ts';
import { FrameReader, frameMessage } from './grpc-frames.ts';

/* gRPC over node:http2. The usual library needs 0.3 ms of CPU per call, four times as much, and etcd's services use only a part of it. */

export interface TlsFiles {
  readonly ca: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

export interface StreamHandler {
  message(message: Buffer): void;
  /** Called once, whatever the reason; undefined if the other end finished normally. */
  closed(error: GrpcError | undefined): void;
}

export interface GrpcStream {
  send(message: Buffer): void;
  cancel(): void;
}

/** etcd rejects pings that are less than 5 s apart. */
const pingInterval = 6_000;
const pingTimeout = 3_000;
const streamWindow = 4 * 1024 * 1024;
const connectionWindow = 32 * 1024 * 1024;
/** Enough for thousands of pending requests; with the default of 10 some would be rejected. */
const sessionMegabytes = 512;

/** One member of the cluster and the connection to it, which is opened on demand and reopened after a failure. */
export class GrpcMember {
  readonly #url: string;
  readonly #tls: TlsFiles | undefined;
  readonly #headers = new Map<string, Record<string, string>>();
  #session: ClientHttp2Session | undefined;

  constructor(endpoint: string, tls: TlsFiles | undefined) {
    const url = new URL(endpoint.includes('://') ? endpoint : `${tls === undefined ? 'http' : 'https'}://${endpoint}`);
    if (url.port === '') url.port = '2379';
    this.#url = url.href;
    this.#tls = tls;
  }

  /** One request, one response. Rejects with a `GrpcError`. */
  call(path: string, body: Buffer, timeout: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      const stream = this.#open(path, {
        message: (message) => {
          answer = message;
        },
        closed: (error) => {
          clearTimeout(timer);
          if (answer !== undefined && error === undefined) resolve(answer);
          else reject(error ?? new GrpcError(grpcStatus.unavailable, 'the response is empty'));
        },
      });
      const timer = setTimeout(() => {
        reject(new GrpcError(grpcStatus.deadlineExceeded, `no response within ${timeout} ms`));
        stream.close(constants.NGHTTP2_CANCEL);
      }, timeout);
      stream.end(frameMessage(body));
    });
  }

  /** A stream of messages in both directions. */
  stream(path: string, handler: StreamHandler): GrpcStream {
    const stream = this.#open(path, handler);
    return {
      send: (message) => {
        if (!stream.closed && !stream.destroyed) stream.write(frameMessage(message));
      },
      cancel: () => stream.close(constants.NGHTTP2_CANCEL),
    };
  }

  close(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  #open(path: string, handler: StreamHandler): ClientHttp2Stream {
    const session = this.#connect();
    const stream = session.request(this.#headersFor(path));
    let isOk = false;
    let status: GrpcError | undefined;
    let failure: Error | undefined;
    const reader = new FrameReader((message) => handler.message(message));
    const readStatus = (headers: IncomingHttpHeaders): void => {
      const code = headers['grpc-status'];
      if (code === '0') isOk = true;
      else if (code !== undefined) status = new GrpcError(Number(code), decodeMessage(headers['grpc-message']));
      else if (headers[':status'] !== undefined && Number(headers[':status']) !== 200) {
        status = new GrpcError(grpcStatus.unavailable, `HTTP status ${String(headers[':status'])}`);
      }
    };
    stream.on('response', readStatus);
    stream.on('trailers', readStatus);
    stream.on('data', (chunk: Buffer) => reader.push(chunk));
    stream.on('error', (error) => {
      failure = error;
    });
    let isFinished = false;
    const finish = (result: GrpcError | undefined): void => {
      if (isFinished) return;
      isFinished = true;
      // etcd may reject a large request before it has read it.
      if (!stream.writableFinished) stream.close(constants.NGHTTP2_CANCEL);
      handler.closed(result);
    };
    stream.on('end', () => {
      if (isOk || status !== undefined) finish(status);
    });
    stream.on('close', () => {
      if (isFinished) return;
      finish(isOk ? undefined : (status ?? new GrpcError(grpcStatus.unavailable, describe(failure), !connectedSessions.has(session))));
    });
    return stream;
  }

  #headersFor(path: string): Record<string, string> {
    let headers = this.#headers.get(path);
    if (headers === undefined) {
      // Without `hasleader`, a member that lost its leader keeps a stream open and silent.
      headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', hasleader: 'true' };
      this.#headers.set(path, headers);
    }
    return headers;
  }

  #connect(): ClientHttp2Session {
    const present = this.#session;
    if (present !== undefined && !present.closed && !present.destroyed) return present;
    const session = connect(this.#url, {
      settings: { enablePush: false, initialWindowSize: streamWindow },
      maxSessionMemory: sessionMegabytes,
      ...this.#tls,
    });
    this.#session = session;
    const forget = (): void => {
      if (this.#session === session) this.#session = undefined;
    };
    const stopPinging = keepAlive(session);
    session.on('connect', () => {
      connectedSessions.add(session);
      session.setLocalWindowSize(connectionWindow);
    });
    session.on('goaway', forget);
    // The streams report the error; without a listener it would end the process.
    session.on('error', forget);
    session.on('close', () => {
      stopPinging();
      forget();
    });
    return session;
  }
}

/** Sessions that were once established: a request sent on any other certainly reached nobody. */
const connectedSessions = new WeakSet<ClientHttp2Session>();

/** Destroys a connection whose other end went silent, so that its callers notice. Returns a function that stops it. */
function keepAlive(session: ClientHttp2Session): () => void {
  let answer: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (session.connecting || session.closed || session.destroyed) return;
    answer ??= setTimeout(() => session.destroy(new Error(`no response to a ping within ${pingTimeout} ms`)), pingTimeout);
    session.ping(() => {
      clearTimeout(answer);
      answer = undefined;
    });
  }, pingInterval);
  timer.unref();
  return () => {
    clearInterval(timer);
    clearTimeout(answer);
  };
}

function decodeMessage(text: string | string[] | undefined): string {
  try {
    return decodeURIComponent(String(text ?? ''));
  } catch {
    return String(text);
  }
}

function describe(failure: Error | undefined): string {
  if (failure === undefined) return 'the connection was closed';
  const { cause } = failure;
  return cause instanceof Error ? cause.message || String(cause) : failure.message;
}
