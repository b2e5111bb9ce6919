import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, connectionOf, loadKubeconfig } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { WebSocket } from 'ws';
import { type Console, type ConsoleLimits, type ConsoleOptions, startConsole } from '../process/console.ts';

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: JsonObject;
}

/** A console in front of any server, and a browser. */
export interface ConsoleSuite extends AsyncDisposable {
  readonly url: string;
  readonly directory: string;
  readonly log: readonly string[];
  readonly running: Console;
  /** The cookie that the browser has; empty if it has none. */
  cookie: string;
  /** As a page of the console does. A header with an empty value is left out. */
  ask(path: string, asking?: Asking): Promise<Answer>;
  signIn(token: string): Promise<Answer>;
  /** Opens a WebSocket as a page does. */
  socket(
    path: string,
    options?: { readonly protocols?: readonly string[]; readonly headers?: Readonly<Record<string, string>> },
  ): WebSocket;
  tab(): Promise<TestTab>;
  /** Stops the process and starts another one on the same port. */
  restart(): Promise<void>;
}

export interface StartSuite extends Partial<ConsoleOptions> {
  readonly connection: Connection;
  readonly limits?: ConsoleLimits;
}

export async function startSuite(options: StartSuite): Promise<ConsoleSuite> {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-console-'));
  mkdirSync(join(directory, 'pages/assets'), { recursive: true });
  writeFileSync(join(directory, 'pages/index.html'), '<!doctype html><meta name="nonce" content="__CSP_NONCE__">');
  const log: string[] = [];
  const start = (port: number): Promise<Console> =>
    startConsole({
      rest: options.connection,
      host: '127.0.0.1',
      port,
      healthAt: { host: '127.0.0.1', port: 0 },
      pagesDirectory: join(directory, 'pages'),
      dataDirectory: directory,
      log: (line) => log.push(line),
      ...options,
    });
  let running = await start(0);
  const { port } = running;
  const url = `http://127.0.0.1:${port}`;
  const own = { origin: url, 'x-capstan-console': '1' };
  const sockets = new Set<WebSocket>();
  const suite: ConsoleSuite = {
    url,
    directory,
    log,
    cookie: '',
    get running() {
      return running;
    },
    async ask(path, { method = 'GET', headers = {}, body } = {}) {
      const all = {
        ...own,
        cookie: suite.cookie,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      };
      const response = await fetch(`${url}${path}`, {
        method,
        redirect: 'manual',
        headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const [set] = response.headers.getSetCookie();
      if (set !== undefined) suite.cookie = set.split(';')[0]!;
      const text = await response.text();
      const isJson = (response.headers.get('content-type') ?? '').includes('json');
      return { status: response.status, headers: response.headers, text, body: isJson ? (JSON.parse(text) as JsonObject) : {} };
    },
    signIn: (token) => suite.ask('/session', { method: 'POST', body: { token } }),
    socket(path, { protocols = [], headers = {} } = {}) {
      const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, [...protocols], {
        headers: { origin: url, cookie: suite.cookie, ...headers },
      });
      sockets.add(socket);
      socket.on('error', () => {});
      return socket;
    },
    tab: () => TestTab.over(suite.socket('/live')),
    async restart() {
      await running[Symbol.asyncDispose]();
      running = await start(port);
      // The first request may use a connection to the former process.
      await fetch(url).catch(() => {});
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.terminate();
      await running[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    },
  };
  return suite;
}

export function adminConnection(kubeconfigPath: string): Connection {
  return connectionOf(loadKubeconfig({ path: kubeconfigPath }));
}

interface LiveMessage {
  readonly key?: string;
  readonly type: string;
  readonly items?: readonly LiveObject[];
  readonly changes?: readonly { readonly type: string; readonly object: LiveObject }[];
  readonly value?: unknown;
  readonly status?: { readonly code: number; readonly message: string };
  readonly upstream?: string;
  readonly since?: string;
}

interface LiveObject {
  readonly metadata: { readonly name: string; readonly managedFields?: unknown };
}

/** The page's end of `/live`. */
export class TestTab {
  readonly messages: LiveMessage[] = [];
  readonly socket: WebSocket;
  /** The code with which the stream was closed, and the reason. */
  closed: number | undefined;
  reason: string | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => this.messages.push(JSON.parse(data.toString('utf8')) as LiveMessage));
    socket.on('close', (code, reason: Buffer) => {
      this.closed = code;
      this.reason = reason.toString('utf8');
    });
  }

  static over(socket: WebSocket): Promise<TestTab> {
    const tab = new TestTab(socket);
    return new Promise((resolve, reject) => {
      socket.on('open', () => resolve(tab));
      socket.on('unexpected-response', (_request, response) => reject(new Error(`refused with ${response.statusCode}`)));
    });
  }

  say(message: object | string): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  of(key: string, type?: string): LiveMessage[] {
    return this.messages.filter((message) => message.key === key && (type === undefined || message.type === type));
  }

  /** The names that a page would show now. */
  names(key: string): string[] {
    const shown = new Set<string>();
    for (const { type, items = [], changes = [] } of this.of(key)) {
      if (type === 'list') shown.clear();
      for (const { metadata } of items) shown.add(metadata.name);
      for (const change of changes) {
        if (change.type === 'DELETED') shown.delete(change.object.metadata.name);
        else shown.add(change.object.metadata.name);
      }
    }
    return [...shown].sort();
  }

  get upstream(): string[] {
    return this.messages.flatMap(({ upstream }) => upstream ?? []);
  }
}
