import type { Connection } from '../kubeconfig/connection.ts';
import { type ClientOptions, RestClient } from '../rest/rest-client.ts';
import type { Transport } from '../rest/transport.ts';
import { HttpTransport } from './http-transport.ts';

/** Talks to one server, as one user, with Node's HTTP client. */
export class Client extends RestClient<Connection> {
  constructor(connection: Connection, options: ClientOptions & { readonly transport?: Transport } = {}) {
    const { timeouts, userAgent } = options;
    super(connection, { ...options, transport: options.transport ?? new HttpTransport(connection, { timeouts, userAgent }) });
  }
}
