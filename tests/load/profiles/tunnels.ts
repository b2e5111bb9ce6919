import { setTimeout as sleep } from 'node:timers/promises';
import { type AnsweringTunnel, answerTunnel, dialTunnel, type TunnelRequest } from '@capstan/streams';
import { makeNamespace } from '../client/ask.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { processorSeconds } from '../measure/processor.ts';
import { enrollMany } from '../streams/fleet.ts';
import { measureIdle } from '../streams/idle.ts';
import { startTunnelNode } from '../streams/tunnel-node.ts';
import { freshNamespace, type Profile } from './profile.ts';

/** How long the server is left alone before its memory is read, and how long its processor time is measured, in milliseconds. */
const rest = 10_000;
const watched = 30_000;
const atOnce = 20;

/** Tunnels of node agents in which nothing happens but pings. */
export const tunnels: Profile = async ({ address, pids }, amounts) => {
  const count = amounts.count ?? 1_000;
  const agents = await enrollMany(address, count);
  await sleep(rest);
  const memory = residentMegabytes(pids) ?? Number.NaN;
  const share = async (): Promise<number> => {
    const used = processorSeconds(pids);
    await sleep(watched);
    return ((processorSeconds(pids) - used) / (watched / 1000)) * 100;
  };
  const before = await share();
  const open: AnsweringTunnel[] = [];
  const began = performance.now();
  const { signal } = new AbortController();
  const waiting = agents.values();
  const opening = Array.from({ length: atOnce }, async () => {
    for (const { certificate, key } of waiting) {
      const tls = { ca: address.ca, cert: certificate, key: key.export({ type: 'pkcs8', format: 'pem' }) };
      const socket = await dialTunnel({ url: `https://${address.host}:${address.port}`, tls, signal, timeout: 60_000 });
      open.push(await answerTunnel(socket, { handle: () => {} }));
    }
  });
  await Promise.all(opening);
  const seconds = (performance.now() - began) / 1000;
  await sleep(rest);
  const grown = (residentMegabytes(pids) ?? Number.NaN) - memory;
  const after = await share();
  for (const tunnel of open) tunnel.destroy();
  return [
    { what: 'tunnels opened', value: count / seconds, unit: 'per second', better: 'higher' },
    { what: 'memory of an idle tunnel', value: (grown * 1024) / count, unit: 'KiB', better: 'lower' },
    { what: 'processor at rest, without tunnels', value: before, unit: '%', better: 'lower' },
    { what: `processor at rest, with ${count} tunnels`, value: after, unit: '%', better: 'lower' },
  ];
};

/** As many as one tunnel carries. */
const perTunnel = 1_000;

/** Streams in tunnels in which nothing happens. */
export const idleTunnelStreams: Profile = async (subject, amounts) => {
  const count = amounts.count ?? 10_000;
  const { address } = subject;
  const agents = await enrollMany(address, Math.ceil(count / perTunnel) + 1);
  await using stack = new AsyncDisposableStack();
  const namespace = freshNamespace();
  await makeNamespace(address, namespace);
  const paths: string[] = [];
  for (const agent of agents) {
    const handle = (request: TunnelRequest): void => void request.respond(200);
    const { pod } = stack.use(await startTunnelNode(address, { agent, namespace, handle }));
    paths.push(`${pod}/attach?stdin=1&stdout=1`);
  }
  return await measureIdle(subject, { paths, count, name: 'idle commands in tunnels' });
};
