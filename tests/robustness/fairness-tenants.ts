import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Two organizations on one server: `attacker`, administrated by mallory, and `victim`, administrated by alice. */
export class Tenants implements AsyncDisposable {
  readonly server: TestServer;
  readonly #sockets: TLSSocket[] = [];

  private constructor(server: TestServer) {
    this.server = server;
  }

  static async start(options: Parameters<typeof startTestServer>[0] = {}): Promise<Tenants> {
    const tenants = new Tenants(await startTestServer({ tokens: 'mallory-token,mallory,1\nalice-token,alice,2', ...options }));
    await tenants.make('attacker', { owner: 'mallory' });
    await tenants.make('victim', { owner: 'alice' });
    return tenants;
  }

  get port(): number {
    return Number(new URL(this.server.url).port);
  }

  /** Makes a workspace as the platform's controllers would: in a parent, or below root. */
  async make(id: string, { owner, parent = 'root' }: { readonly owner: string; readonly parent?: string }): Promise<void> {
    const call = async (path: string, body: object): Promise<void> => {
      const { code, text } = await this.server.call(path, { method: 'POST', body });
      if (code !== 201) throw new Error(`${path}: ${text}`);
    };
    const annotations = {
      'internal.tenancy.kcp.io/type': 'root:universal',
      'kcp.io/path': `${parent === 'root' ? 'root' : `root:${parent}`}:${id}`,
      'experimental.tenancy.kcp.io/owner': JSON.stringify({ username: owner }),
    };
    const spec = { owner: { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: id, cluster: parent, uid: `uid-${id}` } };
    await call(`/clusters/${id}/apis/core.kcp.io/v1alpha1/logicalclusters`, {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', annotations },
      spec,
    });
    await call(`/clusters/${id}/api/v1/namespaces`, { metadata: { name: 'default' } }).catch(() => {});
    await call(`/clusters/${id}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, {
      metadata: { name: `owner-${owner}` },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: owner }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    });
  }

  /** A request on a connection of its own. */
  ask(user: string, path: string, { method = 'GET', body }: { readonly method?: string; readonly body?: object } = {}): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const outgoing = httpsRequest(`${this.server.url}${path}`, {
      method,
      agent: false,
      ca: this.server.identity.ca,
      headers: { authorization: `Bearer ${user}-token`, 'content-type': 'application/json' },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      let text = '';
      incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
      incoming.on('error', reject);
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    return promise;
  }

  /** Opens a connection, sends a text, and reads nothing. */
  async dial(text = ''): Promise<TLSSocket> {
    const socket = connectTls({ host: '127.0.0.1', port: this.port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    socket.on('error', () => {});
    this.#sockets.push(socket);
    await once(socket, 'secureConnect');
    socket.pause();
    if (text !== '') socket.write(text);
    return socket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.server[Symbol.asyncDispose]();
  }
}

export function head(method: string, path: string, headers: Readonly<Record<string, string | number>>): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
