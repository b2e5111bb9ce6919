import { holds, type KcpCondition, lacks, type NewCondition, withConditions } from './conditions.ts';
import type { LogicalCluster, Workspace, WorkspacePhase } from './tenancy.ts';

/** The phase of a Workspace, from its LogicalCluster. */
export function workspacePhase(logicalCluster: LogicalCluster | undefined): WorkspacePhase {
  if (logicalCluster === undefined) return 'Unavailable';
  return logicalCluster.status?.phase ?? 'Scheduling';
}

/** Says of a workspace whether it can be used, or what it waits for. */
export function initializedCondition(phase: WorkspacePhase, initializers: readonly string[]): NewCondition {
  if (phase === 'Ready') return holds('WorkspaceInitialized');
  if (phase === 'Unavailable')
    return lacks('WorkspaceInitialized', { severity: 'Error', reason: 'WorkspaceDisappeared', message: 'LogicalCluster disappeared' });
  const message = `Initializers still exist: [${initializers.join(' ')}]`;
  return lacks('WorkspaceInitialized', { severity: 'Info', reason: 'InitializerExists', message });
}

/** The status of a Workspace that has a LogicalCluster. `conditions` are those that it has now. */
export function workspaceStatus(
  logicalCluster: LogicalCluster | undefined,
  conditions: readonly KcpCondition[] | undefined,
  now: Date,
): NonNullable<Workspace['status']> {
  const { initializers = [], terminators = [] } = logicalCluster?.status ?? {};
  const phase = workspacePhase(logicalCluster);
  return {
    phase,
    ...(initializers.length > 0 && { initializers }),
    ...(terminators.length > 0 && { terminators }),
    conditions: withConditions(conditions, [holds('WorkspaceScheduled'), initializedCondition(phase, initializers)], now),
  };
}
