import { Agent, type RequestOptions, request } from 'node:https';
import { type Connection, readConnection } from '@capstan/testbed';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Body {
  readonly type: string;
  readonly value: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A plain client: rejects if it gets no response. */
export class ApiClient implements Disposable {
  readonly #connection: Connection;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(kubeconfig: string) {
    this.#connection = readConnection(kubeconfig);
  }

  ask(method: string, path: string, body?: Body): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const asked = request(
        { ...this.#options(), method, path, ...(body === undefined ? {} : { headers: { 'content-type': body.type, ...body.headers } }) },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (piece: string) => {
            text += piece;
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
          answer.on('error', reject);
          answer.on('aborted', () => reject(new Error('the response was interrupted')));
        },
      );
      asked.on('error', reject);
      asked.end(body === undefined ? undefined : JSON.stringify(body.value));
    });
  }

  /** Calls `onLine` for each line until the connection ends, for whatever reason. */
  stream(path: string, signal: AbortSignal, onLine: (line: string) => void): Promise<void> {
    return new Promise((resolve) => {
      const asked = request({ ...this.#options(), path, signal }, (answer) => {
        let rest = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          const lines = (rest + piece).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) onLine(line);
        });
        answer.on('error', () => {});
        answer.on('close', resolve);
      });
      asked.on('error', () => resolve());
      asked.end();
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #options(): RequestOptions {
    const { host, port, ca, certificate, key } = this.#connection;
    return { host, port, ca, cert: certificate, key, agent: this.#agent, timeout: 10_000 };
  }
}
