import { setTimeout as sleep } from 'node:timers/promises';
import { deleteStorage, temporaryDirectory } from '@capstan/testbed';
import { shared } from '../client/shared.ts';
import { Latencies } from '../measure/latencies.ts';
import { residentMegabytes } from '../measure/memory.ts';
import type { Column } from '../measure/table.ts';
import type { Measurement } from '../profiles/profile.ts';
import { startPeers } from './capstan.ts';
import { startNomad } from './nomad.ts';
import type { Peer } from './peer.ts';

export interface NomadAmounts {
  /** Runs one after the other, of each kind. */
  readonly count?: number | undefined;
  /** Runs that are ordered by some clients at once. */
  readonly burst?: number | undefined;
  readonly clients?: number | undefined;
}

/** In milliseconds. */
const rest = 40_000;

/** Nomad beside Capstan's tasks and units, on one machine at the same time and in turns: memory at rest, and the time until a program starts. */
export async function compareNomad({ count = 20, burst = 100, clients = 10 }: NomadAmounts): Promise<Column[]> {
  const directory = temporaryDirectory('load-nomad');
  // Nomad leaves mounts behind.
  using _directory = { [Symbol.dispose]: () => deleteStorage(directory) };
  await using nomad = await startNomad(directory);
  await using capstan = await startPeers();
  await sleep(rest);
  const peers: readonly (readonly [string, Peer])[] = [
    ['nomad', nomad],
    ['units', capstan.units],
    ['tasks', capstan.tasks],
  ];
  const rows = new Map<string, Measurement[]>(peers.map(([name, peer]) => [name, memoryOf(peer)]));
  for (const kind of ['command', 'request'] as const) {
    const times = new Map(peers.map(([name]) => [name, new Latencies(count)]));
    // The first of each is not counted: code is compiled while it runs.
    for (let number = 0; number <= count; number++)
      for (const [name, peer] of peers) {
        const time = await startOne(peer, kind, `${kind}-${name}-${number}`);
        if (number > 0) times.get(name)!.add(time);
      }
    for (const [name] of peers)
      for (const share of [0.5, 0.99])
        rows.get(name)!.push({
          what: `from the start of a ${kind} to the start of the program: p${share * 100}`,
          value: times.get(name)!.quantile(share),
          unit: 'ms',
          better: 'lower',
        });
  }
  for (const [name, peer] of peers) {
    const value = await startMany(peer, { prefix: `burst-${name}`, burst, clients });
    rows.get(name)!.push({ what: `${burst} programs started, ${clients} requests at once`, value, unit: 's', better: 'lower' });
  }
  return peers.map(([name]) => ({ name: name === 'nomad' ? name : `Capstan's ${name}`, measurements: rows.get(name)! }));
}

function memoryOf({ servers, agent }: Peer): Measurement[] {
  return [
    { what: 'memory of the agent of a machine at rest', value: residentMegabytes([agent]) ?? Number.NaN, unit: 'MB', better: 'lower' },
    { what: 'memory of the control plane at rest', value: residentMegabytes(servers) ?? Number.NaN, unit: 'MB', better: 'lower' },
  ];
}

/** In milliseconds, from before the order to the time that the program has written. */
async function startOne(peer: Peer, kind: 'command' | 'request', name: string): Promise<number> {
  const began = performance.timeOrigin + performance.now();
  await peer[kind](name);
  return (await peer.started(name)) - began;
}

/** In seconds, from before the first order to the last start. */
async function startMany(
  peer: Peer,
  { prefix, burst, clients }: { readonly prefix: string; readonly burst: number; readonly clients: number },
): Promise<number> {
  const names = Array.from({ length: burst }, (_, index) => `${prefix}-${index}`);
  const began = performance.timeOrigin + performance.now();
  await shared(names, clients, (name) => peer.request(name));
  let last = began;
  for (const name of names) last = Math.max(last, await peer.started(name));
  return (last - began) / 1_000;
}
