import { platformWorkspace } from '@capstan/api';
import { Client, HttpTransport, type Outgoing, type Received, type Transport } from '@capstan/client';
import type { Identity } from '../identity/state.ts';

export interface NearestServerOptions {
  readonly identity: () => Identity;
  /** The URL of the server to ask now. */
  readonly server: () => string;
  /** A server did not accept the identity. */
  readonly onRefused: () => void;
}

/** Sends every request to the server that is the best at that time, so that its users need not know which one that is. */
export class NearestServer implements Transport {
  readonly #options: NearestServerOptions;
  #current: { readonly server: string; readonly transport: HttpTransport } | undefined;

  constructor(options: NearestServerOptions) {
    this.#options = options;
  }

  /** A client for root:platform. */
  client(): Client {
    const { authority: ca, entry } = this.#options.identity();
    return new Client({ server: entry, ca, credentials: this.#credentials, namespace: 'default' }, { transport: this }).cluster(
      platformWorkspace,
    );
  }

  async send(outgoing: Outgoing): Promise<Received> {
    const answer = await this.#transport().send(outgoing);
    if (answer.code === 401) this.#options.onRefused();
    return answer;
  }

  [Symbol.dispose](): void {
    this.#current?.transport[Symbol.dispose]();
    this.#current = undefined;
  }

  /** Opens all connections anew: the present ones may be dead without anybody having said so. */
  reconnect(): void {
    this[Symbol.dispose]();
  }

  /** The same object for the same identity: connections are kept for as long as their credentials are the same. */
  #credential: { readonly identity: Identity; readonly certificate: { readonly cert: string; readonly key: string } } | undefined;
  readonly #credentials = {
    current: () => {
      const identity = this.#options.identity();
      if (this.#credential?.identity.certificate !== identity.certificate)
        this.#credential = { identity, certificate: { cert: identity.certificate, key: identity.key } };
      return this.#credential;
    },
  };

  #transport(): HttpTransport {
    const server = this.#options.server();
    if (this.#current?.server !== server) {
      this[Symbol.dispose]();
      const { authority: ca } = this.#options.identity();
      const connection = { server, ca, credentials: this.#credentials, namespace: 'default' };
      this.#current = { server, transport: new HttpTransport(connection, { userAgent: 'capstan-node-agent' }) };
    }
    return this.#current.transport;
  }
}
