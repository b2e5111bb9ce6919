import type { Allocation, UsageFact } from '@capstan/api';
import { findCondition } from '@capstan/controller';
import type { Attempt, FleetNode } from '@capstan/fleet';

/** The facts of an attempt that its allocation names; undefined if it names another or none: nobody has used it then. */
export function factsOf(
  attempt: Attempt,
  allocation: Allocation,
  nodeOf: (name: string) => FleetNode | undefined,
): UsageFact[] | undefined {
  const granted = findCondition(allocation.status?.conditions, 'Granted');
  if (allocation.status?.attempt !== attempt.name || granted?.status !== 'True') return undefined;
  const { cluster, uid, path, namespace, name } = attempt.allocation;
  return attempt.parts.map(({ node, devices, cpu, memory }, part) => ({
    cluster,
    uid,
    attempt: attempt.name,
    part,
    workspace: path ?? cluster,
    namespace,
    name,
    offering: allocation.spec.offering ?? '',
    model: nodeOf(node)?.gpus.find(({ uuid }) => uuid === devices[0])?.model ?? '',
    gpus: devices.length,
    cpu,
    memory,
    node,
    begin: granted.lastTransitionTime,
  }));
}

/** When the tenant gave an allocation back, as the API server wrote it. */
export function deletionOf({ metadata }: Allocation): number {
  return Date.parse(metadata.deletionTimestamp ?? '');
}
