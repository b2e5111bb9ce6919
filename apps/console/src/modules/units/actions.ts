import { type GPUUnit, gpuUnitKind } from '@capstan/api';
import { kubeClient, type Place } from '../kube/client.ts';
import { isOver } from './state.ts';

const unitsIn = ({ workspace, namespace }: Place) => kubeClient(workspace).resource<GPUUnit>(gpuUnitKind).in(namespace);

const setRunning = (place: Place, name: string, running: boolean): Promise<GPUUnit> =>
  unitsIn(place).patch(name, { type: 'merge', patch: { spec: { running } } });

export const stopUnit = (place: Place, name: string): Promise<GPUUnit> => setRunning(place, name, false);

export const deleteUnit = (place: Place, name: string): Promise<unknown> => unitsIn(place).delete(name);

/** In milliseconds: how long a unit that has ended by itself may take until it is seen stopped. */
const patience = 15_000;

/** Starts a unit that was stopped or has ended. One that has ended by itself still wants to run, and starts again after it was seen stopped. */
export async function startUnit(place: Place, unit: GPUUnit): Promise<void> {
  const name = unit.metadata.name!;
  if (unit.spec.running && isOver(unit)) {
    const { metadata } = await setRunning(place, name, false);
    await untilStopped(place, { name, resourceVersion: metadata.resourceVersion! });
  }
  await setRunning(place, name, true);
}

async function untilStopped(
  place: Place,
  { name, resourceVersion }: { readonly name: string; readonly resourceVersion: string },
): Promise<void> {
  const signal = AbortSignal.timeout(patience);
  const changes = unitsIn(place).watch({ fieldSelector: `metadata.name=${name}`, resourceVersion, signal });
  try {
    for await (const { type, object } of changes)
      if (type !== 'BOOKMARK' && (type === 'DELETED' || (isOver(object) && object.status?.phase === 'Stopped'))) return;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new Error(`${name} was not stopped in time; try to start it again in a moment`);
}
