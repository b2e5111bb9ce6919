import { type RunningApiServer, readConnection, type StoreDriver, startCapstan, startKubeApiserver } from '@capstan/testbed';
import { fill } from '../profiles/fill.ts';
import { freshNamespace, type Measurement } from '../profiles/profile.ts';
import { clientGoSync, ownSync, type Place, reconcileAll } from './probes.ts';
import type { Pair } from './rows.ts';

const rounds = 3;
const objectSize = 1_000;

/** Informers of both sides on the same server with many objects, ours and then client-go's, and one of our reconcilers over them. */
export async function informerRows(store: StoreDriver, count: number): Promise<Pair[]> {
  return [...(await onCapstan(store, count)), ...(await onKubernetes(count))];
}

async function onCapstan(store: StoreDriver, count: number): Promise<Pair[]> {
  await using server = await startCapstan({ store });
  const place = await filled(server, count);
  // The server sends JSON to both, whatever a client prefers.
  const times = await medians({
    theirs: () => clientGoSync('json', place),
    ours: () => ownSync(place),
    reconciles: () => reconcileAll(place),
  });
  const reconciles = (value: number): Measurement => ({ what: 'reconciles', value, unit: 'per second', better: 'higher' });
  return [
    pair(`${count} objects into an informer, on Capstan`, times.theirs, times.ours),
    { kubernetes: reconciles(Number.NaN), capstan: reconciles(count / times.reconciles) },
  ];
}

async function onKubernetes(count: number): Promise<Pair[]> {
  await using server = await startKubeApiserver();
  const place = await filled(server, count);
  const times = await medians({
    json: () => clientGoSync('json', place),
    protobuf: () => clientGoSync('protobuf', place),
    ours: () => ownSync(place),
  });
  const what = `${count} objects into an informer, on kube-apiserver`;
  return [pair(`${what}; client-go in JSON`, times.json, times.ours), pair(`${what}; client-go in protobuf`, times.protobuf, times.ours)];
}

async function filled(server: RunningApiServer, count: number): Promise<Place> {
  const namespace = freshNamespace();
  await fill({ name: server.url, address: readConnection(server.kubeconfig), pids: server.pids }, namespace, { count, size: objectSize });
  return { kubeconfig: server.kubeconfig, namespace, count };
}

/** Several rounds in alternation, so that other work of the machine affects all of them. */
async function medians<Name extends string>(measures: Readonly<Record<Name, () => Promise<number>>>): Promise<Record<Name, number>> {
  const names = Object.keys(measures) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    for (const name of names) times[name].push(await measures[name]());
  }
  process.stderr.write(`  ${JSON.stringify(times)}\n`);
  const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
  return Object.fromEntries(names.map((name) => [name, middle(times[name])])) as Record<Name, number>;
}

function pair(what: string, kubernetes: number, capstan: number): Pair {
  const row = (value: number): Measurement => ({ what, value, unit: 's', better: 'lower' });
  return { kubernetes: row(kubernetes), capstan: row(capstan) };
}
