import { readConnection, type StoreDriver, startCapstan } from '@capstan/testbed';
import { fill } from '../profiles/fill.ts';
import { freshNamespace, type Measurement } from '../profiles/profile.ts';
import { clientGoSync, ownSync, type Place, reconcileAll } from './probes.ts';
import type { Pair } from './rows.ts';

const rounds = 3;
const objectSize = 1_000;

/** Informers of both sides on one server that holds many objects, and a reconciler of ours over them: the medians of some rounds. */
export async function informerRows(store: StoreDriver, count: number): Promise<Pair[]> {
  await using server = await startCapstan({ store });
  const namespace = freshNamespace();
  const subject = { name: `capstan on ${store}`, address: readConnection(server.kubeconfig), pids: server.pids };
  await fill(subject, namespace, { count, size: objectSize });
  const place: Place = { kubeconfig: server.kubeconfig, namespace, count };
  const times: Record<'json' | 'protobuf' | 'own' | 'reconciles', number[]> = { json: [], protobuf: [], own: [], reconciles: [] };
  for (let round = 0; round < rounds; round++) {
    times.json.push(await clientGoSync('json', place));
    times.protobuf.push(await clientGoSync('protobuf', place));
    times.own.push(await ownSync(place));
    times.reconciles.push(await reconcileAll(place));
    process.stderr.write(`${JSON.stringify(times)}\n`);
  }
  const sync = (encoding: string, value: number): Measurement => ({
    what: `${count} objects into an informer; client-go in ${encoding}`,
    value,
    unit: 's',
    better: 'lower',
  });
  const reconciles = (value: number): Measurement => ({ what: 'reconciles', value, unit: 'per second', better: 'higher' });
  return [
    { kubernetes: sync('JSON', median(times.json)), capstan: sync('JSON', median(times.own)) },
    { kubernetes: sync('protobuf', median(times.protobuf)), capstan: sync('protobuf', median(times.own)) },
    { kubernetes: reconciles(Number.NaN), capstan: reconciles(count / median(times.reconciles)) },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
