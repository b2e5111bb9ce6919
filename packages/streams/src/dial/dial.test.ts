import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import { joinConnection } from '../port-forward/join.ts';
import { PortForwardServer } from '../port-forward/pairs.ts';
import { type ChannelMessage, channel } from '../remote-command/channels.ts';
import { WebSocketChannels } from '../remote-command/web-socket.ts';
import { SpdyConnection } from '../spdy/connection.ts';
import { acceptWebSocket } from '../web-socket/accept.ts';
import { dialCommand } from './command.ts';
import { dialPort } from './port.ts';
import { StreamLost, type StreamServer } from './upgrade.ts';

const stack = new AsyncDisposableStack();
let running: Server | undefined;
afterEach(() => {
  running?.closeAllConnections();
  running?.close();
  running = undefined;
});

async function listening(server: Server): Promise<StreamServer> {
  running = server;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec?stdin=true`, headers: { 'x-seen': 'yes' }, tls: {} };
}

/** A server whose commands are run by `run`. */
function commandServer(run: (channels: Duplex, webSocket: WebSocket) => void): Promise<StreamServer> {
  const server = createServer();
  server.on('upgrade', (request, socket, head) => {
    expect(request.headers['x-seen']).toBe('yes');
    const webSocket = acceptWebSocket({ request, socket, head }, { protocol: 'v5.channel.k8s.io', longestMessage: 1 << 20 })!;
    const channels = new WebSocketChannels(webSocket, 'v5.channel.k8s.io');
    channels.on('error', () => {});
    run(channels, webSocket);
  });
  return listening(server);
}

const success = Buffer.from('{"metadata":{},"status":"Success"}');

test('passes input in parts that servers accept, the end of input, output and the status', async () => {
  const server = await commandServer((channels) => {
    let received = 0;
    channels.on('data', (message: ChannelMessage) => {
      if (message.channel === channel.stdin) received += message.payload.length;
      if (message.channel === channel.close) {
        channels.write({ channel: channel.stdout, payload: Buffer.from(`got ${received}`) });
        channels.write({ channel: channel.error, payload: success });
        channels.end();
      }
    });
  });
  const command = await dialCommand(server);
  command.write({ channel: channel.stdin, payload: Buffer.alloc(3_000_000) });
  command.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
  const seen: string[] = [];
  for await (const { channel: number, payload } of command as AsyncIterable<ChannelMessage>) seen.push(`${number} ${payload.toString()}`);
  expect(seen).toEqual(['1 got 3000000', `3 ${success.toString()}`]);
});

test('a stream that breaks off does not look like one that has ended', async () => {
  const server = await commandServer((_channels, webSocket) => webSocket.terminate());
  const command = await dialCommand(server);
  await expect(command.toArray()).rejects.toThrow(StreamLost);
  const stopping = await dialCommand(await commandServer((_channels, webSocket) => webSocket.close(1001)));
  await expect(stopping.toArray()).rejects.toThrow('the server is stopping');
});

test('gives up a server that does not answer pings', async () => {
  const server = await commandServer((_channels, webSocket) => webSocket.pause());
  const command = await dialCommand({ ...server, pingEvery: 5 });
  await expect(command.toArray()).rejects.toThrow('the server does not answer');
});

test('a refusal carries the answer of the server', async () => {
  const refusing = createServer();
  refusing.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'));
  const server = await listening(refusing);
  await expect(dialCommand(server)).rejects.toMatchObject({ name: 'UpgradeRefused', code: 403, text: 'no' });
  await expect(dialPort(server, 80)).rejects.toMatchObject({ name: 'UpgradeRefused', code: 403, text: 'no' });
});

test('a server that cannot be reached is told from one that refuses', async () => {
  const nowhere = { url: 'http://127.0.0.1:1/', headers: {}, tls: {} };
  await expect(dialCommand(nowhere)).rejects.toThrow(StreamLost);
  await expect(dialPort(nowhere, 80)).rejects.toThrow(StreamLost);
});

test('an aborted signal ends dialling and an open stream', async () => {
  const server = await commandServer(() => {});
  await expect(dialCommand({ ...server, signal: AbortSignal.abort(new Error('left')) })).rejects.toThrow();
  const leaving = new AbortController();
  const command = await dialCommand({ ...server, signal: leaving.signal });
  leaving.abort();
  if (!command.closed) await once(command, 'close');
  expect(command.destroyed).toBe(true);
});

test('connects to a port, and says why it could not', async () => {
  const echo = stack.use(createTcpServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  const forwarding = createServer();
  forwarding.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    new PortForwardServer((onStream) => new SpdyConnection(socket, { role: 'server', onStream }), {
      onConnection: (one) =>
        void joinConnection(one, async () => {
          const near = connect({ port: one.port, host: '127.0.0.1', allowHalfOpen: true });
          await once(near, 'connect');
          return near;
        }),
    });
  });
  const server = await listening(forwarding);
  const { data, failure } = await dialPort(server, (echo.address() as AddressInfo).port);
  data.end('hello');
  expect(await text(data)).toBe('hello');
  expect(await failure).toBeUndefined();
  const refused = await dialPort(server, 1);
  // As a client does that sees the end of the connection.
  refused.data.on('end', () => refused.data.destroy());
  expect(await text(refused.data)).toBe('');
  expect(await refused.failure).toContain('ECONNREFUSED');
  await stack.disposeAsync();
});
