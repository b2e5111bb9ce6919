import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { type Connection, dialOptions, HttpTransport } from '@capstan/client';
import { Upstream } from '@capstan/serving';

export interface TargetRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** On a connection of its own, which changes protocols. */
  readonly upgrades?: boolean;
}

/** A server to which requests are relayed, with connections that carry no credentials of this process. */
export class Target implements Disposable {
  /** For questions of the process itself, with a user's token. */
  readonly upstream: Upstream;
  readonly transport: HttpTransport;
  readonly connection: Connection;
  readonly #base: URL;
  readonly #agent: HttpAgent;
  readonly #tls: object;

  private constructor(connection: Connection, tls: object) {
    this.connection = connection;
    this.#base = new URL(connection.server);
    this.#tls = this.#base.protocol === 'https:' ? tls : {};
    const pool = { keepAlive: true, maxSockets: 256, maxFreeSockets: 32, timeout: 0 };
    this.#agent = this.#base.protocol === 'https:' ? new HttpsAgent({ ...pool, ...tls }) : new HttpAgent(pool);
    this.transport = new HttpTransport(connection, { userAgent: 'capstan-console', timeouts: { response: 30_000 } });
    this.upstream = new Upstream(this.transport);
  }

  static async to(connection: Connection): Promise<Target> {
    const { tls } = await dialOptions(connection, { userAgent: 'capstan-console' });
    return new Target(connection, tls);
  }

  request({ method, path, headers, upgrades = false }: TargetRequest): ClientRequest {
    const { protocol, hostname, port } = this.#base;
    return (protocol === 'https:' ? httpsRequest : httpRequest)({
      host: hostname.replaceAll(/[[\]]/g, ''),
      ...(port !== '' && { port }),
      method,
      path,
      headers,
      agent: upgrades ? false : this.#agent,
      ...(upgrades && this.#tls),
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
    this.transport[Symbol.dispose]();
  }
}
