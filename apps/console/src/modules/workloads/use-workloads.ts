import { gpuUnitKind } from '@capstan/api';
import { useMemo } from 'react';
import type { Followed } from '../live/protocol.ts';
import { useLive } from '../live/use-live.ts';
import { byUrgency, type Workload, workloadOfUnit } from './workload.ts';

export interface Workloads {
  readonly attention: readonly Workload[];
  readonly active: readonly Workload[];
  readonly over: readonly Workload[];
}

/** Everything that runs, should run or ran in a workspace. */
export function useWorkloads(workspace: string): Followed<Workloads> {
  const units = useLive(gpuUnitKind, { workspace });
  return useMemo(() => {
    if (units.state !== 'content') return units;
    const all: readonly Workload[] = units.content.map(workloadOfUnit).sort(byUrgency);
    const of = (standing: Workload['standing']) => all.filter((one) => one.standing === standing);
    return { state: 'content', content: { attention: of('attention'), active: of('active'), over: of('over') } };
  }, [units]);
}
