import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { residentMegabytes } from '../measure/memory.ts';
import { processorSeconds } from '../measure/processor.ts';
import { logOpener, openMany, talk, webSocketOpener } from '../streams/clients.ts';
import { type GetTimes, timeGets } from '../streams/gets.ts';
import { measureIdle } from '../streams/idle.ts';
import { type LoadNode, startNode } from '../streams/node.ts';
import { freshNamespace, type Measurement, type Profile, type Subject } from './profile.ts';

const logs = 250;
const commands = 250;
const slowReaders = 50;
const line = Buffer.alloc(1024, 'x');
/** How often each log gets a line, and each command a byte, in milliseconds. */
const pace = 100;
/** Programs do not print at the same moment: in each part of that time, a part of the logs gets its line. */
const beats = 10;
const gigabyte = 1 << 30;

/** Streams to a node beside other work: how much they carry, what they cost, and how they disturb gets. */
export const streams: Profile = async (subject) => {
  await using node = await startNode(subject, freshNamespace());
  // The other ends of the streams give way to the server and to the gets that are timed.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const before = residentMegabytes(subject.pids) ?? Number.NaN;
  const alone = await timeGets(subject.address, node.pod);
  const busy = await besideStreams(subject, node);
  const again = await timeGets(subject.address, node.pod);
  return [
    ...getRows('gets without streams', alone),
    ...busy,
    ...getRows('gets without streams again', again),
    ...(await oneGigabyte(subject, node)),
    { what: 'memory at the start', value: before, unit: 'MB', better: 'lower' },
  ];
};

const getRows = (what: string, { p50, p99 }: GetTimes): Measurement[] => [
  { what: `${what}: p50`, value: p50, unit: 'ms', better: 'lower' },
  { what: `${what}: p99`, value: p99, unit: 'ms', better: 'lower' },
];

async function besideStreams(subject: Subject, node: LoadNode): Promise<Measurement[]> {
  const { address, pids } = subject;
  const { kubelet, pod } = node;
  const stop = new AbortController();
  const followers = await openMany(logs, logOpener(address, pod));
  let received = 0;
  for (const [index, follower] of followers.entries()) {
    if (index < slowReaders) follower.pause();
    else follower.on('data', (chunk: Buffer) => (received += chunk.length));
  }
  const webSockets = await openMany(commands, webSocketOpener(address, `${pod}/attach?stdin=1&stdout=1`));
  const counters = webSockets.map((webSocket) => talk(webSocket, pace, stop.signal));
  let beat = 0;
  const feeding = setInterval(() => kubelet.log(line, { every: beats, from: beat++ % beats }), pace / beats);
  await sleep(1_000);
  const [began, bytes, trips] = [performance.now(), received, sum(counters)];
  const used = processorSeconds(pids);
  await sleep(10_000);
  const time = processorSeconds(pids) - used;
  const share = (time / ((performance.now() - began) / 1000)) * 100;
  const each = (time / ((received - bytes) / line.length + sum(counters) - trips)) * 1e6;
  const beside = await timeGets(address, pod);
  const seconds = (performance.now() - began) / 1000;
  const memory = residentMegabytes(pids) ?? Number.NaN;
  clearInterval(feeding);
  stop.abort();
  for (const follower of followers) follower.destroy();
  for (const webSocket of webSockets) webSocket.terminate();
  while (kubelet.upgraded + kubelet.followers > 0) await sleep(50);
  const what = `gets beside ${logs} logs and ${commands} commands`;
  return [
    ...getRows(what, beside),
    { what: 'lines of 1 KiB in these logs', value: (received - bytes) / line.length / seconds, unit: 'per second', better: 'higher' },
    { what: 'round trips of these commands', value: (sum(counters) - trips) / seconds, unit: 'per second', better: 'higher' },
    { what: "the server's share of a processor for these streams alone", value: share, unit: '%', better: 'lower' },
    { what: "the server's processor time for 1,000 lines or round trips", value: each, unit: 'ms', better: 'lower' },
    { what: `memory with these streams, ${slowReaders} of which nobody reads`, value: memory, unit: 'MB', better: 'lower' },
  ];
}

const sum = (counters: readonly (() => number)[]): number => counters.reduce((total, count) => total + count(), 0);

/** One log and one command that send a gigabyte each. */
async function oneGigabyte({ address, pids }: Subject, { kubelet, pod }: LoadNode): Promise<Measurement[]> {
  const socket = await logOpener(address, pod)();
  let [received, peak] = [0, 0];
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  while (kubelet.followers === 0) await sleep(10);
  let [began, used] = [performance.now(), processorSeconds(pids)];
  const part = Buffer.alloc(256 << 10, 'x');
  for (let sent = 0; sent < gigabyte; sent += part.length) {
    if (!kubelet.log(part)) await kubelet.drained();
    if (sent % (64 << 20) === 0) peak = Math.max(peak, residentMegabytes(pids) ?? 0);
  }
  while (received < gigabyte) await sleep(5);
  const log = gigabyte / 1e6 / ((performance.now() - began) / 1000);
  const logTime = processorSeconds(pids) - used;
  socket.destroy();
  [began, used] = [performance.now(), processorSeconds(pids)];
  const webSocket = await webSocketOpener(address, `${pod}/exec?stdout=1&command=head&command=-c&command=1G&command=/dev/zero`)();
  await once(webSocket, 'close');
  const command = gigabyte / 1e6 / ((performance.now() - began) / 1000);
  const commandTime = processorSeconds(pids) - used;
  return [
    { what: '1 GiB in one log: MB', value: log, unit: 'per second', better: 'higher' },
    { what: '1 GiB from one command over a WebSocket: MB', value: command, unit: 'per second', better: 'higher' },
    { what: "the server's processor time for that log", value: logTime, unit: 's', better: 'lower' },
    { what: "the server's processor time for that command", value: commandTime, unit: 's', better: 'lower' },
    { what: 'memory during that log', value: peak, unit: 'MB', better: 'lower' },
  ];
}

/** Streams to a kubelet in which nothing happens. */
export const idleStreams: Profile = async (subject, amounts) => {
  await using node = await startNode(subject, freshNamespace());
  const count = amounts.count ?? 9_000;
  const measured = await measureIdle(subject, { paths: [`${node.pod}/attach?stdin=1&stdout=1`], count, name: 'idle commands' });
  while (node.kubelet.upgraded > 0) await sleep(50);
  return measured;
};
