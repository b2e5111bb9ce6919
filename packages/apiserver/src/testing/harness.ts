import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import type { KubeObject } from '@capstan/machinery';
import type { ServerOptions } from '../server/options.ts';
import { startServer } from '../server/server.ts';

export interface Reply {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly text: string;
  /** The body as JSON; throws if it is not JSON. */
  json(): KubeObject & { items?: KubeObject[]; message?: string; reason?: string };
}

export interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Objects are sent as JSON, strings and bytes as they are. */
  readonly body?: unknown;
  /** Without the admin's certificate. */
  readonly anonymous?: boolean;
}

/** A connection that has changed protocols. */
export interface Upgraded {
  readonly code: 101;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: Duplex;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** A server for one test, on a free port and with a new data directory, and the means to call it as its administrator. */
export interface TestServer extends AsyncDisposable {
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly directory: string;
  /** The administrator's certificate, and the authority of the server's. */
  readonly identity: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
  call(path: string, call?: Call): Promise<Reply>;
  /** Asks to change protocols. Resolves with the connection, or with the reply if the server refuses. */
  upgrade(path: string, call: Call): Promise<Upgraded | Reply>;
  /** Starts a GET request and returns the response to be read by the test. */
  open(path: string): Promise<IncomingMessage>;
  /** Collects events until there are `count` of them or the watch ends. */
  watch(path: string, count: number): Promise<WatchEvent[]>;
  /** Watches until an event satisfies `isLast` or the watch ends; returns all events. */
  watchUntil(path: string, isLast: (event: WatchEvent) => boolean): Promise<WatchEvent[]>;
  /** Stops the server and starts it again with the same data directory; `between` may change that. */
  restart(between?: () => void): Promise<void>;
}

export async function startTestServer(options: Partial<ServerOptions> = {}): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'capstan-apiserver-'));
  const start = async () => {
    const server = await startServer({ dataDirectory: directory, host: '127.0.0.1', port: 0, log: () => {}, ...options });
    const kubeconfig = await readFile(server.kubeconfigPath, 'utf8');
    const pem = (name: string): Buffer => Buffer.from(new RegExp(`${name}: "?([^"\\s]+)`).exec(kubeconfig)![1]!, 'base64');
    const ca = pem('certificate-authority-data');
    const identity = { ca, cert: pem('client-certificate-data'), key: pem('client-key-data') };
    return {
      server,
      identity,
      admin: new Agent({ keepAlive: true, ...identity }),
      nobody: new Agent({ keepAlive: true, ca }),
    };
  };
  let running = await start();
  const stop = async (): Promise<void> => {
    running.admin.destroy();
    running.nobody.destroy();
    await running.server[Symbol.asyncDispose]();
  };
  const send = (
    path: string,
    { method = 'GET', headers = {}, body, anonymous = false }: Call = {},
    onData?: (text: string) => boolean,
  ): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body);
      const outgoing = request(`${running.server.url}${path}`, {
        method,
        agent: anonymous ? running.nobody : running.admin,
        headers: {
          accept: 'application/json',
          'user-agent': 'test/1',
          ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
          ...headers,
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        let text = '';
        const chunks: Buffer[] = [];
        const decoder = new StringDecoder('utf8');
        const finish = (): void =>
          resolve({
            code: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.concat(chunks),
            text,
            json: () => JSON.parse(text),
          });
        incoming.on('data', (chunk: Buffer) => {
          chunks.push(chunk);
          text += decoder.write(chunk);
          if (onData?.(text) === true) {
            finish();
            incoming.destroy();
          }
        });
        incoming.on('end', finish);
        incoming.on('error', finish);
      });
      outgoing.end(bytes);
    });
  return {
    get url() {
      return running.server.url;
    },
    get kubeconfigPath() {
      return running.server.kubeconfigPath;
    },
    directory,
    get identity() {
      return running.identity;
    },
    call: (path, call) => send(path, call),
    upgrade: (path, { method = 'POST', headers = {}, anonymous = false }) =>
      new Promise((resolve, reject) => {
        const agent = anonymous ? running.nobody : running.admin;
        const outgoing = request(`${running.server.url}${path}`, { method, agent, headers: { connection: 'Upgrade', ...headers } });
        outgoing.on('error', reject);
        outgoing.on('upgrade', (incoming, socket, head) => {
          if (head.length > 0) socket.unshift(head);
          resolve({ code: 101, headers: incoming.headers, socket });
        });
        outgoing.on('response', (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('end', () => {
            const body = Buffer.concat(chunks);
            const text = body.toString();
            resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body, text, json: () => JSON.parse(text) });
          });
        });
        outgoing.end();
      }),
    open: (path) =>
      new Promise((resolve, reject) => {
        request(`${running.server.url}${path}`, { agent: running.admin }).on('response', resolve).on('error', reject).end();
      }),
    async watch(path, count) {
      const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
      const reply = await send(path, {}, (text) => text.endsWith('\n') && lines(text).length >= count);
      return lines(reply.text).map((line) => JSON.parse(line) as WatchEvent);
    },
    async watchUntil(path, isLast) {
      const events: WatchEvent[] = [];
      let read = 0;
      await send(path, {}, (text) => {
        for (let end = text.indexOf('\n', read); end >= 0; end = text.indexOf('\n', read)) {
          const event = JSON.parse(text.slice(read, end)) as WatchEvent;
          read = end + 1;
          events.push(event);
          if (isLast(event)) return true;
        }
        return false;
      });
      return events;
    },
    async restart(between) {
      await stop();
      between?.();
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      // A last write of the server may still arrive.
      await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    },
  };
}

/** Creates a workspace that contains only the object that makes it exist. */
export async function createWorkspace(server: Pick<TestServer, 'call'>, id: string): Promise<void> {
  const body = { apiVersion: 'core.kcp.io/v1alpha1', kind: 'LogicalCluster', metadata: { name: 'cluster' } };
  const { code, text } = await server.call(`/clusters/${id}/apis/core.kcp.io/v1alpha1/logicalclusters`, { method: 'POST', body });
  if (code !== 201) throw new Error(`workspace ${id} could not be made: ${text}`);
}
