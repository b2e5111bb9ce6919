import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { joinConnection } from '../port-forward/join.ts';
import { PortForwardServer, portForwardProtocol } from '../port-forward/pairs.ts';
import { type ChannelMessage, type CommandChannels, channel } from '../remote-command/channels.ts';
import { SpdyServerChannels } from '../remote-command/spdy-server.ts';
import { SpdyConnection } from '../spdy/connection.ts';
import { acceptWebSocket, isHandshake } from '../web-socket/accept.ts';

export interface FakeKubeletOptions {
  readonly certificate: string;
  readonly key: string;
  /** Signs the certificates of clients. */
  readonly authority: string;
  /** Where commands run. */
  readonly directory?: string;
}

/** A request that the kubelet received. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  /** The common name of the client's certificate. */
  readonly user: string;
  readonly headers: IncomingMessage['headers'];
}

/**
 * A kubelet for tests, without containers: it speaks the kubelet's protocols, runs commands on this machine, and forwards ports to it. A
 * command with a terminal runs in the kubelet itself: it repeats its input, reports sizes, and ends at `exit`.
 */
export class FakeKubelet implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #options: FakeKubeletOptions;
  readonly #sockets = new Set<TLSSocket>();
  readonly #followers = new Set<ServerResponse>();
  readonly #children = new Set<ChildProcess>();
  /** Connections that have been upgraded and are open. */
  upgraded = 0;
  /** Closes a connection when a second request arrives on it, as a kubelet that gives up an idle one at that moment. */
  closesIdle = false;
  readonly #used = new WeakSet<Duplex>();

  private constructor(options: FakeKubeletOptions) {
    this.#options = options;
    const { certificate: cert, key, authority: ca } = options;
    this.#server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true });
    this.#server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (this.#isGivenUp(request.socket)) return void request.socket.destroy();
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (this.#isGivenUp(socket)) socket.destroy();
      else this.#upgrade(request, socket as TLSSocket, head);
    });
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', () => {});
  }

  static async start(options: FakeKubeletOptions): Promise<FakeKubelet> {
    const kubelet = new FakeKubelet(options);
    await once(kubelet.#server.listen(0, '127.0.0.1'), 'listening');
    return kubelet;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  get followers(): number {
    return this.#followers.size;
  }

  /** Appends to the logs of all containers, or of every so many-th one. False if a follower does not keep up. */
  log(text: string | Buffer, only: { readonly every: number; readonly from: number } = { every: 1, from: 0 }): boolean {
    let hasRoom = true;
    let index = 0;
    for (const follower of this.#followers) if (index++ % only.every === only.from) hasRoom = follower.write(text) && hasRoom;
    return hasRoom;
  }

  /** Resolves when all followers have caught up. */
  async drained(): Promise<void> {
    await Promise.all([...this.#followers].filter((one) => one.writableNeedDrain).map((one) => once(one, 'drain')));
  }

  /** The containers of all followed logs have ended. */
  endLogs(): void {
    for (const follower of this.#followers) follower.end();
  }

  /** Cuts all connections, as a machine that fails. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    for (const child of this.#children) child.kill('SIGKILL');
    await closed;
  }

  #isGivenUp(socket: Duplex): boolean {
    const isUsed = this.#used.has(socket);
    this.#used.add(socket);
    return isUsed && this.closesIdle;
  }

  #see(request: IncomingMessage): URL {
    const { method = '', url = '', headers } = request;
    const subject = (request.socket as TLSSocket).getPeerCertificate().subject;
    this.requests.push({ method, url, headers, user: String(subject.CN) });
    return new URL(url, 'https://kubelet');
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = this.#see(request);
    if (pathname.startsWith('/containerLogs/')) return this.#logs(pathname, searchParams, response);
    if (pathname === '/redirect') return void response.writeHead(302, { location: '/elsewhere?x=1' }).end();
    if (pathname === '/missing') return void response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method, url, headers } = request;
    response.writeHead(200, { 'content-type': 'application/json', 'x-kubelet': 'fake', connection: 'x-secret', 'x-secret': '1' });
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }));
  }

  #logs(pathname: string, options: URLSearchParams, response: ServerResponse): void {
    if (pathname.endsWith('/broken')) return void response.writeHead(400).end('container "broken" is waiting to start: ContainerCreating');
    response.writeHead(200, { 'content-type': 'text/plain' });
    const lines = ['first line', 'second line'].slice(-Number(options.get('tailLines') ?? 2));
    response.write(`${lines.join('\n')}\n`);
    if (options.get('follow') !== 'true') return void response.end();
    this.#followers.add(response);
    response.on('close', () => this.#followers.delete(response));
  }

  #upgrade(request: IncomingMessage, socket: TLSSocket, head: Buffer): void {
    const { pathname, searchParams } = this.#see(request);
    socket.on('error', () => socket.destroy());
    const { upgrade } = request.headers;
    if (upgrade === 'websocket' && isHandshake(request)) {
      const webSocket = acceptWebSocket({ request, socket, head }, { protocol: '', longestMessage: 1 << 20 });
      webSocket?.on('error', () => webSocket.terminate());
      webSocket?.on('message', (data: Buffer) => webSocket.send(`echo ${data.toString()}`));
      return;
    }
    const [, action = '', , , container] = pathname.split('/');
    if (upgrade !== 'SPDY/3.1' || container === 'broken')
      return void socket.end(
        'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 19\r\n\r\ncontainer not found',
      );
    const offered = String(request.headers['x-stream-protocol-version'] ?? '').split(/,\s*/);
    const protocol = action === 'portForward' ? portForwardProtocol : (offered.find((one) => one.startsWith('v4')) ?? offered[0]!);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    this.upgraded++;
    socket.on('close', () => this.upgraded--);
    const connectAs = (onStream: ConstructorParameters<typeof SpdyConnection>[1]['onStream']) =>
      new SpdyConnection(socket, { role: 'server', onStream: onStream! });
    if (action === 'portForward') {
      new PortForwardServer(connectAs, { onConnection: (one) => void joinConnection(one, () => dial(one.port)) });
      return;
    }
    const has = (name: string): boolean => searchParams.get(name) === '1';
    const options = { stdin: has('input'), stdout: has('output'), stderr: has('error'), tty: has('tty') };
    const channels = new SpdyServerChannels(connectAs, { ...options, protocol });
    channels.on('error', () => {});
    if (options.tty || action === 'attach') runTerminal(channels);
    else this.#run(channels, searchParams.getAll('command'));
  }

  #run(channels: CommandChannels, [program = 'true', ...args]: readonly string[]): void {
    const child = spawn(program, args, { cwd: this.#options.directory, stdio: 'pipe' });
    this.#children.add(child);
    child.on('error', (error) => finish(channels, { message: error.message }));
    child.on('exit', () => this.#children.delete(child));
    child.stdin.on('error', () => {});
    for (const [number, output] of [[channel.stdout, child.stdout] as const, [channel.stderr, child.stderr] as const]) {
      output.on('data', (payload: Buffer) => {
        if (channels.write({ channel: number, payload })) return;
        output.pause();
        channels.once('drain', () => output.resume());
      });
    }
    child.on('close', (code) => finish(channels, { code: code ?? 137 }));
    channels.on('close', () => child.kill('SIGKILL'));
    channels.on('data', ({ channel: number, payload }: ChannelMessage) => {
      if (number === channel.close) child.stdin.end();
      if (number !== channel.stdin || child.stdin.write(payload)) return;
      channels.pause();
      child.stdin.once('drain', () => channels.resume());
    });
  }
}

function runTerminal(channels: CommandChannels): void {
  const say = (text: string): boolean => channels.write({ channel: channel.stdout, payload: Buffer.from(text) });
  say('welcome\r\n');
  channels.on('data', ({ channel: number, payload }: ChannelMessage) => {
    if (number === channel.resize) say(`size ${payload.toString()}\r\n`);
    if (number === channel.stdin) say(`got ${JSON.stringify(payload.toString())}\r\n`);
    if (number === channel.close || (number === channel.stdin && payload.toString().includes('exit'))) finish(channels, { code: 0 });
  });
}

function finish(channels: CommandChannels, result: { readonly code: number } | { readonly message: string }): void {
  if (channels.writableEnded || channels.destroyed) return;
  channels.write({ channel: channel.error, payload: Buffer.from(JSON.stringify(statusOf(result))) });
  channels.end();
}

function statusOf(result: { readonly code: number } | { readonly message: string }): object {
  if ('message' in result) return { metadata: {}, status: 'Failure', reason: 'InternalError', code: 500, message: result.message };
  if (result.code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${result.code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(result.code) }] },
  };
}

async function dial(port: number): Promise<Duplex> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}
