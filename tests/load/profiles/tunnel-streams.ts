import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type ChannelMessage, channel, FramedChannels, type TunnelRequest } from '@capstan/streams';
import type { Connection } from '@capstan/testbed';
import type { WebSocket } from 'ws';
import { makeNamespace } from '../client/ask.ts';
import { Latencies } from '../measure/latencies.ts';
import { processorSeconds } from '../measure/processor.ts';
import { logOpener, webSocketOpener } from '../streams/clients.ts';
import { enrollMany } from '../streams/fleet.ts';
import { timeGets } from '../streams/gets.ts';
import { startTunnelNode } from '../streams/tunnel-node.ts';
import { freshNamespace, type Measurement, type Profile, type Subject } from './profile.ts';

const piece = Buffer.alloc(32 << 10, 'x');
/** Between two bytes that a command repeats, in milliseconds. */
const pause = 5;

/** A large stream through the tunnel of an agent: how much it carries, and how it disturbs gets and the keys of another stream in the same tunnel. `--count` is the number of gets. */
export const tunnelStreams: Profile = async (subject, { count = 40_000 }) => {
  const { address } = subject;
  const [agent] = await enrollMany(address, 1);
  const namespace = freshNamespace();
  await makeNamespace(address, namespace);
  using node = await startTunnelNode(address, { agent: agent!, namespace, handle: answer });
  const { pod } = node;
  const beside = (what: string, large: (() => Promise<LargeStream>) | undefined): Promise<Measurement[]> =>
    measureBeside(subject, { what, large, pod, count });
  return [
    ...(await beside('without a large stream', undefined)),
    ...(await beside('beside a large log', () => largeLog(address, pod))),
    ...(await beside('beside a large command', () => largeCommand(address, pod))),
    ...(await beside('without a large stream again', undefined)),
  ];
};

/** The agent: logs never end, and commands send without end or, with `cat`, repeat what they are sent. */
async function answer(request: TunnelRequest): Promise<void> {
  const { pathname, searchParams } = new URL(request.path, 'http://node');
  const stream = request.respond(200);
  // Clients leave in the middle.
  if (pathname.startsWith('/logs/')) return pipeline(Readable.from(endless(() => piece)), stream).catch(() => {});
  const channels = new FramedChannels(stream);
  channels.on('error', () => {});
  if (searchParams.get('command') !== 'cat') {
    channels.resume();
    return pipeline(Readable.from(endless(() => ({ channel: channel.stdout, payload: piece }))), channels).catch(() => {});
  }
  channels.on('data', ({ channel: number, payload }: ChannelMessage) => {
    if (number === channel.stdin) channels.write({ channel: channel.stdout, payload });
  });
}

function* endless<Item>(next: () => Item): Generator<Item, void, undefined> {
  for (;;) yield next();
}

interface LargeStream extends Disposable {
  /** Bytes that have arrived so far. */
  received(): number;
}

async function largeLog(address: Connection, pod: string): Promise<LargeStream> {
  const socket = await logOpener(address, pod)();
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
  return { received: () => bytes, [Symbol.dispose]: () => void socket.destroy() };
}

async function largeCommand(address: Connection, pod: string): Promise<LargeStream> {
  const webSocket = await webSocketOpener(address, `${pod}/exec?stdout=1&command=yes`)();
  let bytes = 0;
  webSocket.on('message', (data: Buffer) => (bytes += data.length));
  return { received: () => bytes, [Symbol.dispose]: () => webSocket.terminate() };
}

async function measureBeside(
  { address, pids }: Subject,
  { what, large, pod, count }: { what: string; large: (() => Promise<LargeStream>) | undefined; pod: string; count: number },
): Promise<Measurement[]> {
  using stream = await large?.();
  const keys = await webSocketOpener(address, `${pod}/exec?stdin=1&stdout=1&command=cat`)();
  const trips = timeTrips(keys);
  const [began, bytes, used] = [performance.now(), stream?.received() ?? 0, processorSeconds(pids)];
  const gets = await timeGets(address, pod, count);
  const seconds = (performance.now() - began) / 1000;
  const megabytes = ((stream?.received() ?? 0) - bytes) / 1e6;
  const time = processorSeconds(pids) - used;
  keys.terminate();
  return [
    { what: `gets ${what}: p50`, value: gets.p50, unit: 'ms', better: 'lower' },
    { what: `gets ${what}: p99`, value: gets.p99, unit: 'ms', better: 'lower' },
    { what: `a key in the same tunnel ${what}: p50`, value: trips.quantile(0.5), unit: 'ms', better: 'lower' },
    { what: `a key in the same tunnel ${what}: p99`, value: trips.quantile(0.99), unit: 'ms', better: 'lower' },
    { what: `the server's processor time ${what}`, value: (time / seconds) * 100, unit: '%', better: 'lower' },
    ...(stream === undefined ? [] : [{ what: `MB ${what}`, value: megabytes / seconds, unit: 'per second', better: 'higher' } as const]),
  ];
}

/** Sends a byte and waits for its echo, again and again until the connection ends. */
function timeTrips(webSocket: WebSocket): Latencies {
  const latencies = new Latencies(10_000);
  let began = 0;
  const send = (): void => {
    if (webSocket.readyState !== webSocket.OPEN) return;
    began = performance.now();
    webSocket.send(Buffer.from([channel.stdin, 0x61]));
  };
  webSocket.on('message', (data: Buffer) => {
    // The first message of a command is empty.
    if (data[0] !== channel.stdout || data.length < 2) return;
    latencies.add(performance.now() - began);
    setTimeout(send, pause);
  });
  send();
  return latencies;
}
