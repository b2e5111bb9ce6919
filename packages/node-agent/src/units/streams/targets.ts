import type { UnitOwner } from '@capstan/api';
import type { ContainerTarget } from '../../requests/router.ts';
import type { UnitEngine } from '../engine/engine.ts';
import type { UnitRun } from '../engine/unit-run.ts';
import type { UnitRecord } from '../records/record.ts';

/** The newest start of the unit that a Pod shows; undefined if this node has none. Workspace, namespace and name must all be the same. */
export function runFor(engine: Pick<UnitEngine, 'runs'>, target: ContainerTarget): UnitRun | undefined {
  return [...engine.runs]
    .filter(({ record }) => isFor(record.spec.owner, target))
    .sort((one, other) => newestFirst(one.record, other.record))[0];
}

/** The same among the units that were removed and whose logs are still there. */
export function removedFor(engine: Pick<UnitEngine, 'removed'>, target: ContainerTarget): UnitRecord | undefined {
  return engine.removed.filter(({ spec }) => isFor(spec.owner, target)).sort(newestFirst)[0];
}

export function isFor(owner: UnitOwner, { cluster, namespace, pod }: ContainerTarget): boolean {
  return owner.cluster === cluster && owner.namespace === namespace && owner.name === pod;
}

/** Runs of one unit have numbers. A unit that was deleted and created again has another UID, and begins again. */
function newestFirst(one: UnitRecord, other: UnitRecord): number {
  if (one.spec.owner.uid === other.spec.owner.uid) return other.spec.run - one.spec.run;
  return other.acceptedAt.wall - one.acceptedAt.wall;
}
