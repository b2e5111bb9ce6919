import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { SpdyConnection } from '../spdy/connection.ts';
import { acceptWebSocket } from '../web-socket/accept.ts';
import { type ChannelMessage, channel, longestMessage } from './channels.ts';
import { encodeFrame, FrameDecoder, FramedChannels, FrameError } from './framed.ts';
import { joinChannels } from './join.ts';
import { SpdyClientChannels } from './spdy-client.ts';
import { SpdyServerChannels } from './spdy-server.ts';
import { type CommandProtocol, chooseCommandProtocol, WebSocketChannels } from './web-socket.ts';

const everything = { stdin: true, stdout: true, stderr: true, tty: false };
const success = Buffer.from('{"metadata":{},"status":"Success"}');

/** A command that repeats its input on stdout, reports its end on stderr, and succeeds when its input ends. */
function runEcho(channels: Duplex): void {
  channels.on('error', () => {});
  channels.on('data', (message: ChannelMessage) => {
    if (message.channel === channel.stdin) channels.write({ channel: channel.stdout, payload: message.payload });
    if (message.channel === channel.resize) channels.write({ channel: channel.stderr, payload: message.payload });
    if (message.channel !== channel.close) return;
    channels.write({ channel: channel.stderr, payload: Buffer.from('bye') });
    channels.write({ channel: channel.error, payload: success });
    channels.end();
  });
}

function spdyPair(protocol: string, options = everything): { client: SpdyClientChannels; server: SpdyServerChannels } {
  const [near, far] = duplexPair();
  const server = new SpdyServerChannels((onStream) => new SpdyConnection(near, { role: 'server', onStream }), { ...options, protocol });
  return { server, client: new SpdyClientChannels(new SpdyConnection(far, { role: 'client' }), options) };
}

async function collect(channels: Duplex): Promise<Record<number, string>> {
  const texts: Record<number, string> = {};
  for await (const { channel: number, payload } of channels as AsyncIterable<ChannelMessage>)
    texts[number] = (texts[number] ?? '') + payload.toString();
  return texts;
}

describe('frames', () => {
  const message = fc.record({
    channel: fc.constantFrom(0, 1, 2, 3, 4, 255),
    payload: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
  });

  test('survive encoding and decoding, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(message), fc.integer({ min: 1, max: 30 }), (messages, cut) => {
        const bytes = Buffer.concat(messages.map(encodeFrame));
        const decoder = new FrameDecoder();
        const read: ChannelMessage[] = [];
        for (let at = 0; at < bytes.length; at += cut) read.push(...decoder.read(bytes.subarray(at, at + cut)));
        expect(read).toEqual(messages);
        expect(decoder.isPartial).toBe(false);
      }),
    );
  });

  test('that are too long are rejected before they arrive', () => {
    const header = Buffer.alloc(5);
    header.writeUInt32BE(longestMessage + 1, 1);
    expect(() => [...new FrameDecoder().read(header)]).toThrow(FrameError);
  });

  test('a stream that ends within a frame is an error', async () => {
    const [near, far] = duplexPair();
    const channels = new FramedChannels(near);
    far.end(Buffer.from([1, 0, 0]));
    const [error] = (await once(channels.resume(), 'error')) as [Error];
    expect(error).toBeInstanceOf(FrameError);
  });

  test('that were sent before the end arrive at a slow reader, too', async () => {
    const [near, far] = duplexPair();
    const channels = new FramedChannels(near);
    const closed = once(near, 'close');
    far.resume();
    far.end(encodeFrame({ channel: channel.error, payload: success }));
    near.end();
    await closed;
    expect(await collect(channels)).toEqual({ [channel.error]: success.toString() });
    expect(channels.destroyed).toBe(true);
  });
});

describe('a command', () => {
  test('over frames', async () => {
    const [near, far] = duplexPair();
    runEcho(new FramedChannels(far));
    const client = new FramedChannels(near);
    client.write({ channel: channel.stdin, payload: Buffer.from('hello') });
    client.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
    expect(await collect(client)).toEqual({ 1: 'hello', 2: 'bye', 3: success.toString() });
  });

  test.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('over SPDY with %s', async (protocol) => {
    const { client, server } = spdyPair(protocol);
    runEcho(server);
    client.write({ channel: channel.stdin, payload: Buffer.from('hello') });
    client.write({ channel: channel.close, payload: Buffer.from([channel.stdin]) });
    expect(await collect(client)).toEqual({ 1: 'hello', 2: 'bye', 3: success.toString() });
  });

  test('over SPDY with v3, whose errors are plain text', async () => {
    const { client, server } = spdyPair('v3.channel.k8s.io');
    server.write({ channel: channel.error, payload: Buffer.from('{"status":"Failure","message":"exit 3"}') });
    server.end();
    expect(await collect(client)).toEqual({ 3: 'exit 3' });
  });

  test('that ends before its client has opened all streams', async () => {
    const [near, far] = duplexPair();
    const options = { ...everything, protocol: 'v4.channel.k8s.io' };
    const server = new SpdyServerChannels((onStream) => new SpdyConnection(near, { role: 'server', onStream }), options);
    server.write({ channel: channel.error, payload: success });
    server.end();
    const connection = new SpdyConnection(far, { role: 'client' });
    const error = connection.open({ streamtype: 'error' });
    await setImmediate();
    for (const streamtype of ['stdin', 'stdout', 'stderr']) expect(connection.open({ streamtype }).destroyed).toBe(false);
    expect(await text(error)).toBe(success.toString());
    expect(await connection.closed).toBeUndefined();
  });

  test('with a terminal, which has no stderr and can be resized', async () => {
    const { client, server } = spdyPair('v4.channel.k8s.io', { ...everything, tty: true });
    client.write({ channel: channel.resize, payload: Buffer.from('{"Width":80,"Height":24}') });
    client.write({ channel: channel.resize, payload: Buffer.from('{"Width":81,"Height":25}\n') });
    const sizes: string[] = [];
    for await (const message of server as AsyncIterable<ChannelMessage>) {
      expect(message.channel).toBe(channel.resize);
      sizes.push(message.payload.toString());
      if (sizes.length === 2) break;
    }
    expect(sizes).toEqual(['{"Width":80,"Height":24}', '{"Width":81,"Height":25}']);
  });

  test('whose client opens no streams ends after a while', async () => {
    const [near, far] = duplexPair();
    const options = { ...everything, protocol: 'v4.channel.k8s.io', patience: 10 };
    const server = new SpdyServerChannels((onStream) => new SpdyConnection(near, { role: 'server', onStream }), options);
    far.resume();
    const [error] = (await once(server, 'error')) as [Error];
    expect(error.message).toBe('the client did not open its streams in time');
  });

  test('whose node goes away tells its client', async () => {
    const [nodeNear, nodeFar] = duplexPair();
    const [clientNear, clientFar] = duplexPair();
    const joined = joinChannels(new FramedChannels(clientNear), new FramedChannels(nodeNear));
    const told = collect(new FramedChannels(clientFar));
    nodeFar.destroy();
    nodeNear.destroy();
    expect(JSON.parse((await told)[channel.error]!)).toMatchObject({ status: 'Failure', code: 500 });
    clientFar.destroy();
    clientNear.destroy();
    await joined;
  });

  test('whose client goes away ends on the node', async () => {
    const [nodeNear] = duplexPair();
    const [clientNear] = duplexPair();
    const joined = joinChannels(new FramedChannels(clientNear), new FramedChannels(nodeNear));
    clientNear.destroy();
    await joined;
    expect(nodeNear.destroyed).toBe(true);
  });

  test('whose client reads nothing stops the node', async () => {
    const [nodeNear, nodeFar] = duplexPair();
    const [clientNear] = duplexPair();
    const joined = joinChannels(new FramedChannels(clientNear), new FramedChannels(nodeNear));
    const frame = encodeFrame({ channel: channel.stdout, payload: Buffer.alloc(100_000) });
    let written = 0;
    while (written < 1000 && (nodeFar.write(frame) || (await drainsSoon(nodeFar)))) written++;
    expect(written).toBeLessThan(100);
    clientNear.destroy();
    await joined;
  });
});

async function drainsSoon(stream: Duplex): Promise<boolean> {
  let isDrained = false;
  stream.once('drain', () => (isDrained = true));
  for (let turn = 0; turn < 50 && !isDrained; turn++) await setImmediate();
  return isDrained;
}

describe('over a WebSocket', () => {
  const server = createServer();
  const accepted: ((channels: WebSocketChannels) => void)[] = [];
  beforeAll(async () => {
    server.on('upgrade', (request, socket, head) => {
      const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').filter((one) => one !== '');
      const protocol = chooseCommandProtocol(offered)!;
      const options = { protocol, longestMessage };
      accepted.shift()!(new WebSocketChannels(acceptWebSocket({ request, socket, head, headers: ['Audit-Id', '7'] }, options)!, protocol));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => void server.close());

  async function open(protocol: CommandProtocol): Promise<{ webSocket: WebSocket; channels: WebSocketChannels }> {
    const { promise, resolve } = Promise.withResolvers<WebSocketChannels>();
    accepted.push(resolve);
    const { port } = server.address() as AddressInfo;
    const webSocket = new WebSocket(`ws://127.0.0.1:${port}`, protocol === '' ? [] : [protocol]);
    return { webSocket, channels: await promise };
  }

  test.each([
    ['v5.channel.k8s.io', (number: number, text: string) => Buffer.concat([Buffer.from([number]), Buffer.from(text)])],
    ['v4.base64.channel.k8s.io', (number: number, text: string) => `${number}${Buffer.from(text).toString('base64')}`],
  ] as const)('with %s', async (protocol, encode) => {
    const { webSocket, channels } = await open(protocol);
    runEcho(channels);
    const messages: string[] = [];
    const closed = once(webSocket, 'close');
    webSocket.on('message', (data: Buffer) => messages.push(data.toString('latin1')));
    await once(webSocket, 'open');
    expect(webSocket.protocol).toBe(protocol);
    webSocket.send(encode(0, 'hello'));
    webSocket.send(encode(4, '{}'));
    // Not a channel of clients.
    webSocket.send(encode(1, 'ignored'));
    if (protocol === 'v5.channel.k8s.io') webSocket.send(Buffer.from([channel.close, channel.stdin]));
    else {
      while (messages.length < 3) await once(webSocket, 'message');
      channels.write({ channel: channel.error, payload: success });
      channels.end();
    }
    expect((await closed)[0]).toBe(1000);
    const expected = [encode(1, ''), encode(1, 'hello'), encode(2, '{}'), encode(2, 'bye'), encode(3, success.toString())];
    const sent = protocol === 'v5.channel.k8s.io' ? expected : expected.filter((_, index) => index !== 3);
    expect(messages).toEqual(sent.map((one) => one.toString('latin1' as BufferEncoding)));
  });

  test('messages of all lengths arrive as they were sent', async () => {
    const { webSocket, channels } = await open('v5.channel.k8s.io');
    const lengths = [0, 1, 123, 124, 125, 126, 65_533, 65_534, 65_535, 65_536, 700_000];
    const received: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => received.push(data));
    for (const length of lengths) channels.write({ channel: channel.stderr, payload: Buffer.alloc(length, length % 251) });
    channels.end();
    await once(webSocket, 'close');
    expect(received.slice(1).map((data) => [data.length - 1, data[0]])).toEqual(lengths.map((length) => [length, channel.stderr]));
    for (const data of received.slice(1))
      expect(data.subarray(1).equals(Buffer.alloc(data.length - 1, (data.length - 1) % 251))).toBe(true);
  });

  test('without a protocol, errors are plain text and success is silent', async () => {
    const { webSocket, channels } = await open('');
    channels.write({ channel: channel.error, payload: Buffer.from('{"status":"Failure","message":"exit 3"}') });
    channels.write({ channel: channel.error, payload: success });
    channels.end();
    const messages: string[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data.toString()));
    await once(webSocket, 'close');
    expect(messages).toEqual(['\x01', '\x03exit 3']);
  });

  test('a message that is too long closes the connection', async () => {
    const { webSocket, channels } = await open('v5.channel.k8s.io');
    channels.on('error', () => {});
    await once(webSocket, 'open');
    webSocket.send(Buffer.alloc(longestMessage + 1));
    expect((await once(webSocket, 'close'))[0]).toBe(1009);
    if (!channels.closed) await once(channels, 'close');
  });

  test('a client that offers only unknown protocols has none', () => {
    expect(chooseCommandProtocol(['v9.channel.k8s.io'])).toBeUndefined();
    expect(chooseCommandProtocol(['channel.k8s.io', 'v4.channel.k8s.io'])).toBe('v4.channel.k8s.io');
  });
});

test('a kubelet that resets the connection after the status has not lost anything', async () => {
  const [near, far] = duplexPair();
  const kubelet = new SpdyConnection(near, {
    role: 'server',
    onStream: (stream) => {
      if (stream.headers['streamtype'] === 'stdout') stream.write('output');
      if (stream.headers['streamtype'] === 'error') setTimeout(() => stream.write(success, reset), 10);
    },
  });
  void kubelet.closed;
  // Only once the status has arrived: on a busy machine, two timers may end at the same time.
  const reset = (): void => void setTimeout(() => far.destroy(new Error('read ECONNRESET')), 10);
  const client = new SpdyClientChannels(new SpdyConnection(far, { role: 'client' }), everything);
  expect(await collect(client)).toEqual({ [channel.stdout]: 'output', [channel.error]: success.toString() });
});

test('sends nothing to a kubelet that has sent all output, so that the end of the connection does not discard the status', async () => {
  const [near, far] = duplexPair();
  const sent: string[] = [];
  const kubelet = new SpdyConnection(near, {
    role: 'server',
    onStream: (stream) => {
      const type = String(stream.headers['streamtype']);
      stream.resume().on('end', () => sent.push(type));
      if (type === 'stdout' || type === 'stderr') stream.end('output');
      else if (type === 'error') setTimeout(() => stream.end(success), 30);
    },
  });
  const client = new SpdyClientChannels(new SpdyConnection(far, { role: 'client' }), { ...everything, stdin: false });
  expect(await collect(client)).toMatchObject({ [channel.stdout]: 'output', [channel.error]: success.toString() });
  expect(sent).toEqual([]);
  kubelet.destroy();
});
