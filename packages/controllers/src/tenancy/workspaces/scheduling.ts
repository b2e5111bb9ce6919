import { type Shard, unschedulableAnnotation, type Workspace } from '@capstan/api';
import { selectorOfObject } from '@capstan/machinery';

/** A shard for a new workspace, or why there is none. */
export function chooseShard({ spec }: Workspace, shards: readonly Shard[]): Shard | string {
  const asked = spec?.location?.selector;
  const selector = asked === undefined ? undefined : selectorOfObject(asked);
  const usable = shards.filter(
    ({ metadata }) =>
      metadata.annotations?.[unschedulableAnnotation] === undefined && (selector === undefined || selector.matches(metadata.labels)),
  );
  return usable[Math.floor(Math.random() * usable.length)] ?? 'No available shards to schedule the workspace';
}
