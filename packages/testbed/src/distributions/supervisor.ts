import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { askApi } from './api.ts';
import { issue, sharedFiles } from './certificates.ts';
import { addEtcdMember } from './etcd.ts';
import type { Layout } from './layout.ts';
import type { Passwords } from './tokens.ts';

export interface SupervisorOptions {
  readonly layout: Layout;
  readonly passwords: Passwords;
  /** Answers requests for anything else; the supervisor of k3s passes them on to the API. */
  readonly otherwise?: { request(request: IncomingMessage, response: ServerResponse): void; connect(server: Server): void };
}

/** The endpoint by which members join: authorities without a password, everything else with one. */
export function createSupervisor({ layout, passwords, otherwise }: SupervisorOptions): Server {
  const { tls, program } = layout;
  const read = (file: string): string => readFileSync(join(tls, file), 'utf8');
  const prefix = `/v1-${program}/`;
  const server = createServer(
    {
      cert: read('serving-kube-apiserver.crt'),
      key: read('serving-kube-apiserver.key'),
      ca: read('client-ca.crt'),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'https://supervisor');
      const send = (status: number, body: string): void => void response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
      if (pathname === '/ping') return send(200, 'pong');
      if (pathname === '/cacerts') return send(200, read('server-ca.crt'));
      if (!pathname.startsWith(prefix)) return otherwise === undefined ? send(404, 'not found\n') : otherwise.request(request, response);
      const user = userOf(request, passwords);
      if (user === undefined) return send(401, '401 Unauthorized: not authorized\n');
      answer({ layout, request, path: pathname.slice(prefix.length), user }).then(
        ({ status, body }) => send(status, body),
        (error: unknown) => send(503, `${String(error)}\n`),
      );
    },
  );
  otherwise?.connect(server);
  return server;
}

function userOf({ headers }: IncomingMessage, passwords: Passwords): 'server' | 'node' | undefined {
  const [user, password = ''] = Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
    .toString()
    .split(/:(.*)/s);
  if (user !== 'server' && user !== 'node') return undefined;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(password), digest(passwords[user])) ? user : undefined;
}

interface Asked {
  readonly layout: Layout;
  readonly request: IncomingMessage;
  readonly path: string;
  readonly user: 'server' | 'node';
}

async function answer({ layout, request, path, user }: Asked): Promise<{ status: number; body: string }> {
  const { program } = layout;
  const header = (name: string): string => String(request.headers[`${program}-node-${name}`] ?? '');
  switch (path) {
    case 'readyz':
      return { status: (await askApi(layout, 'GET', '/readyz')).status, body: 'ok' };
    case 'server-bootstrap':
      if (user !== 'server') return { status: 403, body: 'only servers may ask for the keys of the cluster\n' };
      return { status: 200, body: JSON.stringify(sharedFiles(layout)) };
    case 'etcd-join':
      if (user !== 'server') return { status: 403, body: 'only servers may join etcd\n' };
      return { status: 200, body: await addEtcdMember(header('name'), header('ip')) };
    case 'kubelet': {
      const node = header('name');
      if (!(await isPassword(layout, node, header('password')))) return { status: 403, body: nodePasswordRejected(node) };
      const client = issue(layout, { authority: 'client-ca', subject: `/O=system:nodes/CN=system:node:${node}` });
      const serving = issue(layout, {
        authority: 'server-ca',
        subject: `/CN=${node}`,
        names: [node, header('ip'), '127.0.0.1', 'localhost'],
      });
      const proxy = issue(layout, { authority: 'client-ca', subject: '/CN=system:kube-proxy' });
      const authority = readFileSync(join(layout.tls, 'client-ca.crt'), 'utf8');
      return { status: 200, body: JSON.stringify({ client, serving, proxy, authority, servers: await serverAddresses(layout) }) };
    }
    default:
      return { status: 404, body: 'not found\n' };
  }
}

const nodePasswordRejected = (node: string): string =>
  `Node password rejected, duplicate hostname or contents of '/etc/rancher/node/password' may not match server node-passwd entry, try enabling a unique node name: ${node}\n`;

/** Whether a node is the one that first had this name. Nodes without a password are new. */
async function isPassword(layout: Layout, node: string, password: string): Promise<boolean> {
  const name = `${node}.node-password.${layout.program}`;
  const path = '/api/v1/namespaces/kube-system/secrets';
  const hash = createHash('sha256').update(password).digest('base64');
  const found = await askApi(layout, 'GET', `${path}/${name}`);
  if (found.status === 200)
    return (JSON.parse(found.body) as { data: { hash: string } }).data.hash === Buffer.from(hash).toString('base64');
  if (found.status !== 404) throw new Error(`the API answers ${found.status}: ${found.body}`);
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, immutable: true, stringData: { hash } };
  const created = await askApi(layout, 'POST', path, body);
  if (created.status !== 201) throw new Error(`the API answers ${created.status}: ${created.body}`);
  return true;
}

/** Where the API answers, besides this server. */
async function serverAddresses(layout: Layout): Promise<readonly string[]> {
  const found = await askApi(layout, 'GET', '/api/v1/namespaces/default/endpoints/kubernetes');
  if (found.status !== 200) return [layout.address];
  const { subsets = [] } = JSON.parse(found.body) as { subsets?: { addresses?: { ip: string }[] }[] };
  return [...new Set([layout.address, ...subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip))])];
}
