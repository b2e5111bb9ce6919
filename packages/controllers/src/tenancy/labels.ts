import { initializerLabelPrefix, type LogicalCluster, terminatorLabelPrefix } from '@capstan/api';
import { waitingLabels } from '@capstan/api/hashes';

/** The labels of a LogicalCluster that have to change: their new value, or null if they have to be removed. */
export function labelChanges({ metadata, status }: LogicalCluster): Record<string, string | null> {
  const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Scheduling') : 'Deleting';
  const wanted = waitingLabels({ phase, initializers: status?.initializers ?? [], terminators: status?.terminators ?? [] });
  const changes: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted)) if (metadata.labels?.[key] !== value) changes[key] = value;
  for (const key of Object.keys(metadata.labels ?? {}))
    if ((key.startsWith(initializerLabelPrefix) || key.startsWith(terminatorLabelPrefix)) && !(key in wanted)) changes[key] = null;
  return changes;
}
