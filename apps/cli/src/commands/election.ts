import type { ElectionOptions } from '@capstan/controller';
import type { LeaderElectionConfig } from '../config/leader-election.ts';

export type ElectionSettings = Omit<ElectionOptions, 'client'>;

/** The election that flags and file ask for, by default with this lease; undefined to work without one. */
export function electionSettings(
  flag: boolean | undefined,
  file: LeaderElectionConfig = {},
  lease: { readonly namespace: string; readonly name: string },
): ElectionSettings | undefined {
  // Commander sets the flag to true when it is not given.
  if (flag === false || file.enabled === false) return undefined;
  const { namespace = lease.namespace, name = lease.name, leaseSeconds, renewSeconds, retrySeconds } = file;
  return {
    namespace,
    name,
    ...(leaseSeconds !== undefined && { leaseDuration: leaseSeconds * 1000 }),
    ...(renewSeconds !== undefined && { renewDeadline: renewSeconds * 1000 }),
    ...(retrySeconds !== undefined && { retryPeriod: retrySeconds * 1000 }),
  };
}
