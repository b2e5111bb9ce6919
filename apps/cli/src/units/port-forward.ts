import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GPUUnit, UnitPort } from '@capstan/api';
import { Backoff } from '@capstan/machinery';
import { type DialledPort, dialPort } from '@capstan/streams';
import { Failure } from '../failure.ts';
import { requireRunning } from './shell.ts';
import { isOver, outcomeOf } from './state.ts';
import { podPath, refusalOf, streamTo, type UnitPod } from './streams/pod.ts';
import { findUnit, isPassing, openUnits, type UnitFlags } from './units.ts';
import { unitUntil } from './watch.ts';

export interface ForwardFlags extends UnitFlags {
  readonly address: string;
  /** How long a connection waits for a server that restarts, in milliseconds. */
  readonly patience?: number;
}

interface Forward {
  /** 0 for any free one. */
  readonly local: number;
  readonly remote: number;
  readonly name?: string;
}

/** `80`, `8080:80`, `:80`, or the name of a port instead of its number. */
export function forwardOf(text: string, ports: readonly UnitPort[]): Forward {
  const [, localText, remoteText = ''] = /^(?:(\d{0,5}):)?([a-z0-9-]+)$/.exec(text) ?? [];
  const named = ports.find(({ name, port }) => name === remoteText || String(port) === remoteText);
  const remote = named?.port ?? (/^\d{1,5}$/.test(remoteText) ? Number(remoteText) : Number.NaN);
  const local = localText === undefined ? remote : Number(localText);
  if (!(remote >= 1 && remote <= 65_535) || local > 65_535) {
    const known = ports.length === 0 ? '' : ` Its ports are ${ports.map(({ name, port }) => `${name} (${port})`).join(', ')}.`;
    throw new Failure('usage', `expected a port such as 8080, 9000:8080, :8080 or its name, found ${JSON.stringify(text)}.${known}`);
  }
  return { local, remote, ...(named && { name: named.name }) };
}

/** Makes ports of a unit reachable from this machine, until it is interrupted or the unit ends. */
export async function forwardPorts(name: string, ports: readonly string[], flags: ForwardFlags): Promise<void> {
  using units = openUnits(flags);
  const unit = await findUnit(units, name);
  requireRunning(unit, name);
  const wanted = forwardsOf(unit, ports);
  const stop = new AbortController();
  const pod: UnitPod = { units, name };
  const servers = await Promise.all(wanted.map((forward) => listen(pod, forward, { ...flags, signal: stop.signal })));
  const interrupted = Promise.withResolvers<undefined>();
  const leave = (): void => interrupted.resolve(undefined);
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    const watching = unitUntil(units, { name, uid: unit.metadata.uid, signal: stop.signal }, isOver);
    const ended = await Promise.race([watching, interrupted.promise]);
    if (ended !== undefined) process.stderr.write(`${name} has ended: ${outcomeOf(ended) ?? 'it succeeded'}.\n`);
  } finally {
    process.off('SIGINT', leave).off('SIGTERM', leave);
    stop.abort();
    for (const server of servers) server.close();
  }
}

function forwardsOf({ metadata, spec: { ports = [] } }: GPUUnit, asked: readonly string[]): Forward[] {
  if (asked.length > 0) return asked.map((text) => forwardOf(text, ports));
  if (ports.length === 0)
    throw new Failure('usage', `${metadata.name} names no ports. Say which one: capstan port-forward ${metadata.name} 8080`);
  return ports.map(({ name, port }) => ({ local: port, remote: port, name }));
}

interface ListenOptions {
  readonly address: string;
  readonly patience?: number;
  readonly signal: AbortSignal;
}

async function listen(
  pod: UnitPod,
  { local, remote, name }: Forward,
  { address, patience = 15_000, signal }: ListenOptions,
): Promise<Server> {
  const complaints = new Complaints();
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    void connectPort(pod, remote, { patience, signal }).then(
      ({ data, failure }) => {
        join(socket, data);
        void failure.then((reason) => reason !== undefined && complaints.tell(`Port ${remote}: ${reason}`));
      },
      (error: unknown) => {
        socket.resetAndDestroy();
        if (!signal.aborted) complaints.tell(`Port ${remote}: ${(error as Error).message}`);
      },
    );
  });
  signal.addEventListener('abort', () => {
    for (const socket of sockets) socket.destroy();
  });
  try {
    await once(server.listen(local, address), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      throw new Failure(
        'portInUse',
        `port ${local} of this machine is used. Take any free one: ":${remote}" instead of "${local}:${remote}".`,
        error,
      );
    throw new Failure('usage', `port ${local} of ${address} cannot be used: ${(error as Error).message}.`, error);
  }
  const { port } = server.address() as AddressInfo;
  process.stdout.write(
    `http://${address.includes(':') ? `[${address}]` : address}:${port} -> ${name === undefined ? remote : `${name} (${remote})`}\n`,
  );
  return server;
}

/** Connects through the server, and waits for one that restarts. */
export async function connectPort(
  pod: UnitPod,
  port: number,
  { patience, signal }: { patience: number; signal: AbortSignal },
): Promise<DialledPort> {
  const backoff = new Backoff({ base: 100, max: 1_000 });
  for (const end = Date.now() + patience; ; ) {
    try {
      return await dialPort(await streamTo(pod, podPath(pod, 'portforward'), signal), port);
    } catch (refused) {
      const error = refusalOf(refused, pod);
      if (!isPassing(error) || Date.now() > end || signal.aborted) throw error;
      await sleep(backoff.next());
    }
  }
}

/** Until both directions have ended. */
function join(socket: Socket, data: DialledPort['data']): void {
  if (socket.destroyed) return void data.destroy();
  data.on('error', () => socket.destroy());
  data.on('close', () => {
    if (!socket.writableEnded) socket.end();
  });
  socket.on('close', () => data.destroy());
  socket.pipe(data);
  data.pipe(socket);
}

/** Tells each trouble once in a while: a browser tries again and again. */
class Complaints {
  readonly #told = new Map<string, number>();

  tell(text: string): void {
    const now = Date.now();
    if (now - (this.#told.get(text) ?? 0) < 5_000) return;
    this.#told.set(text, now);
    process.stderr.write(`${text}\n`);
  }
}
