import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** An error that a container engine answered with. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  /** Of HTTP; 0 if the engine did not answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

export interface EngineRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Instead of a body. */
  readonly content?: { readonly type: string; readonly data: Buffer };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * A connection that can be read to its end when it can no longer be written. A command may end while input for it is on its way; the failed
 * write would destroy an ordinary socket, with the last output in it.
 */
class CommandSocket extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    super._writev!(chunks, () => done());
  }
}

/** The API of a container engine: HTTP on a socket of the machine. */
export class Engine {
  readonly socketPath: string;

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** The answer, parsed; undefined if it is empty. Rejects with an EngineError. */
  async call<T>(request: EngineRequest): Promise<T> {
    const answer = await text(await this.stream(request));
    return (answer === '' ? undefined : JSON.parse(answer)) as T;
  }

  /** The same, but undefined if there is no such thing. */
  async find<T>(request: EngineRequest): Promise<T | undefined> {
    try {
      return await this.call<T>(request);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Whether there is such a thing, for answers that may be empty. */
  async has(request: EngineRequest): Promise<boolean> {
    return this.call(request).then(
      () => true,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );
  }

  /** The body of an answer while it comes in. */
  async stream(request: EngineRequest): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      this.#send(request).once('response', resolve).once('error', reject);
    }).catch((error: unknown) => {
      throw unreachable(error);
    });
    if (response.statusCode! < 400) return response;
    throw new EngineError(response.statusCode!, messageIn(await text(response)));
  }

  /** A connection that carries the streams of a command. Rejects with an EngineError. */
  async hijack(request: EngineRequest): Promise<Socket> {
    return new Promise<Socket>((resolve, reject) => {
      const sent = this.#send({ ...request, headers: { ...request.headers, connection: 'Upgrade', upgrade: 'tcp' } });
      sent.once('upgrade', (_response, socket: Socket, head) => {
        if (head.length > 0) socket.unshift(head);
        // An error is followed by `close`, where everybody waits.
        socket.on('error', () => {});
        resolve(socket);
      });
      sent.once('response', (response) => {
        text(response).then((answer) => reject(new EngineError(response.statusCode!, messageIn(answer))), reject);
      });
      sent.once('error', (error) => reject(unreachable(error)));
    });
  }

  #send({ method = 'GET', path, body, content, headers = {}, signal }: EngineRequest): ReturnType<typeof httpRequest> {
    const sending = content ?? (body === undefined ? undefined : { type: 'application/json', data: Buffer.from(JSON.stringify(body)) });
    const sent = httpRequest({
      method,
      path,
      headers: {
        host: 'localhost',
        ...(sending && { 'content-type': sending.type, 'content-length': sending.data.length }),
        ...headers,
      },
      // A command may go on writing when its input has ended.
      createConnection: () => new CommandSocket({ allowHalfOpen: true }).connect({ path: this.socketPath }),
      ...(signal && { signal }),
    });
    sent.end(sending?.data);
    return sent;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof EngineError && error.status === 404;
}

function unreachable(error: unknown): EngineError {
  return new EngineError(0, `the container engine does not answer: ${(error as Error).message}`, { cause: error });
}

function messageIn(answer: string): string {
  try {
    const { message, cause } = JSON.parse(answer) as { readonly message?: string; readonly cause?: string };
    return message ?? cause ?? answer;
  } catch {
    return answer.trim();
  }
}
