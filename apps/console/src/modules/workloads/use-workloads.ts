import { type AppInstance, appInstanceKind, type GPUUnit, gpuUnitKind } from '@capstan/api';
import { useMemo } from 'react';
import { isPreview } from '../apps/state.ts';
import type { Followed } from '../live/protocol.ts';
import { useLive } from '../live/use-live.ts';
import { byUrgency, type Workload, workloadOfInstance, workloadOfUnit } from './workload.ts';

export interface Workloads {
  readonly attention: readonly Workload[];
  readonly active: readonly Workload[];
  readonly over: readonly Workload[];
}

type Lists = {
  readonly units: Followed<readonly GPUUnit[]>;
  readonly instances: Followed<readonly AppInstance[]>;
};

/** Whether a workspace lacks the kind, or hides it from the person. */
const isAbsent = (list: Followed<unknown>): boolean => list.state === 'error' && (list.status.code === 404 || list.status.code === 403);

/** Units and instances in one list. A workspace that has only one of the kinds shows that one. */
export function workloadsOf({ units, instances }: Lists): Followed<Workloads> {
  if (isAbsent(units) && (isAbsent(instances) || instances.state === 'loading')) return units as Followed<never>;
  for (const list of [units, instances]) if (list.state !== 'content' && !isAbsent(list)) return list;
  const all: readonly Workload[] = [
    ...(units.state === 'content' ? units.content.map(workloadOfUnit) : []),
    ...(instances.state === 'content' ? instances.content.filter((one) => !isPreview(one)).map(workloadOfInstance) : []),
  ].sort(byUrgency);
  const of = (standing: Workload['standing']) => all.filter((one) => one.standing === standing);
  return { state: 'content', content: { attention: of('attention'), active: of('active'), over: of('over') } };
}

/** Everything that runs, should run or ran in a workspace. */
export function useWorkloads(workspace: string): Followed<Workloads> {
  const units = useLive(gpuUnitKind, { workspace });
  const instances = useLive(appInstanceKind, { workspace });
  return useMemo(() => workloadsOf({ units, instances }), [units, instances]);
}
