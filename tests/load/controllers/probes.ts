import { join } from 'node:path';
import { output, requireTool } from '@capstan/testbed';

/** The output of a probe. */
interface Told {
  readonly objects: number;
  readonly seconds: number;
}

export interface Place {
  readonly kubeconfig: string;
  readonly namespace: string;
  /** How many ConfigMaps exist. */
  readonly count: number;
}

const timeout = 600_000;

/** Seconds until a client-go informer has received all objects. */
export async function clientGoSync(encoding: 'json' | 'protobuf', place: Place): Promise<number> {
  const program = await requireTool('clientgo-probe');
  const args = ['-kubeconfig', place.kubeconfig, '-namespace', place.namespace, '-sync', encoding];
  return secondsOf(await output(program, args, { timeout }), place);
}

/** Seconds until one of our informers has received all objects. */
export function ownSync(place: Place): Promise<number> {
  return runOwn('informer-probe.ts', place);
}

/** Seconds that a reconciler without work needs for all objects. */
export function reconcileAll(place: Place): Promise<number> {
  return runOwn('reconcile-probe.ts', place);
}

/** In a separate process, like client-go's probe, so that neither is warm. */
async function runOwn(file: string, place: Place): Promise<number> {
  const args = [join(import.meta.dirname, file), place.kubeconfig, place.namespace, String(place.count)];
  return secondsOf(await output(process.execPath, args, { timeout }), place);
}

function secondsOf(text: string, { count }: Place): number {
  const { objects, seconds } = JSON.parse(text) as Told;
  if (objects !== count) throw new Error(`expected ${count} objects, got ${objects}`);
  return seconds;
}
