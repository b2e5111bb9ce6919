import {
  bindingsInitializer,
  contentFinalizer,
  holds,
  type KcpCondition,
  type LogicalCluster,
  lacks,
  ownerAnnotation,
  type PurgedWorkspace,
  terminatorsFinalizer,
  trimmedOwner,
  withConditions,
} from '@capstan/api';
import { done, type Result, requeueAfter } from '@capstan/controller';
import { labelChanges } from '../labels.ts';
import { remaining, waitFor } from '../remains.ts';

/** The actions available to the steps. */
export interface LogicalClusterActions {
  /** The address of the shard that the workspace is on; undefined while it is not known. */
  readonly address: () => string | undefined;
  /** Creates the bindings that the type asks for, and returns what is left to do. */
  readonly bind: () => Promise<{ readonly incomplete: readonly string[]; readonly missing: readonly string[] }>;
  readonly purge: () => Promise<PurgedWorkspace>;
  readonly update: (logicalCluster: LogicalCluster) => Promise<LogicalCluster>;
  readonly updateStatus: (logicalCluster: LogicalCluster) => Promise<LogicalCluster>;
  readonly now: () => Date;
}

/** A step ends the reconcile by returning a result. */
type Step = (progress: { logicalCluster: LogicalCluster }, actions: LogicalClusterActions) => Promise<Result | undefined>;

const steps: readonly Step[] = [describe, finalizeWorkspace, locate, createBindings, completeInitialization];

/** Makes a new workspace usable, and empties one that is being deleted. It keeps no state, so it can continue after a crash at any point. */
export async function reconcileLogicalCluster(logicalCluster: LogicalCluster | undefined, actions: LogicalClusterActions): Promise<Result> {
  if (logicalCluster === undefined) return done;
  const progress = { logicalCluster };
  for (const step of steps) {
    const result = await step(progress, actions);
    if (result !== undefined) return result;
  }
  return done;
}

/** Labels and finalizers follow the status. Once the workspace is ready, the annotation about its owner is trimmed. */
async function describe(progress: { logicalCluster: LogicalCluster }, { update }: LogicalClusterActions): Promise<undefined> {
  const { metadata, status } = progress.logicalCluster;
  const labels = Object.entries({ ...metadata.labels, ...labelChanges(progress.logicalCluster) }).filter(([, value]) => value !== null);
  const owner = status?.phase === 'Ready' ? trimmedOwner(metadata.annotations?.[ownerAnnotation]) : undefined;
  const waits = (status?.terminators ?? []).length > 0;
  const { finalizers = [] } = metadata;
  const isKept = finalizers.includes(terminatorsFinalizer) === waits;
  if (Object.keys(labelChanges(progress.logicalCluster)).length === 0 && owner === undefined && isKept) return;
  const others = finalizers.filter((name) => name !== terminatorsFinalizer);
  progress.logicalCluster = await update({
    ...progress.logicalCluster,
    metadata: {
      ...metadata,
      labels: Object.fromEntries(labels) as Record<string, string>,
      ...(owner !== undefined && { annotations: { ...metadata.annotations, [ownerAnnotation]: owner } }),
      finalizers: waits ? [...others, terminatorsFinalizer] : others,
    },
  });
}

async function finalizeWorkspace(
  progress: { logicalCluster: LogicalCluster },
  actions: LogicalClusterActions,
): Promise<Result | undefined> {
  const { metadata, status } = progress.logicalCluster;
  if (metadata.deletionTimestamp === undefined) return undefined;
  const terminators = status?.terminators ?? [];
  if (terminators.length > 0) {
    const message = `Terminators still exist: [${terminators.join(' ')}]`;
    await report(progress, [lacks('WorkspaceContentDeleted', { severity: 'Info', reason: 'TerminatorExists', message })], actions);
    return done;
  }
  if (metadata.finalizers?.includes(contentFinalizer) !== true) return done;
  const { gone, remains } = await actions.purge();
  if (gone) return done;
  await report(progress, [remaining(remains)], actions);
  return requeueAfter(waitFor(metadata.deletionTimestamp, actions.now()));
}

/** The URL of a workspace follows its shard, which may have moved to another address. */
async function locate(progress: { logicalCluster: LogicalCluster }, { address, updateStatus }: LogicalClusterActions): Promise<undefined> {
  const { status } = progress.logicalCluster;
  const [base, path] = [address(), status?.URL?.match(/\/clusters\/[^/]+$/)?.[0]];
  if (base === undefined || path === undefined || status?.URL === base + path) return;
  progress.logicalCluster = await updateStatus({ ...progress.logicalCluster, status: { ...status, URL: base + path } });
}

async function createBindings(progress: { logicalCluster: LogicalCluster }, actions: LogicalClusterActions): Promise<Result | undefined> {
  const { metadata, status } = progress.logicalCluster;
  if (status?.initializers?.includes(bindingsInitializer) !== true) return undefined;
  const { incomplete, missing } = await actions.bind();
  if (incomplete.length > 0 || missing.length > 0) {
    await report(progress, [waiting(incomplete, missing)], actions);
    return requeueAfter(waitFor(metadata.creationTimestamp ?? undefined, actions.now()));
  }
  const initializers = status.initializers.filter((name) => name !== bindingsInitializer);
  await report(progress, [holds('APIBindingsInitialized')], actions, initializers);
}

function waiting(incomplete: readonly string[], missing: readonly string[]): Omit<KcpCondition, 'lastTransitionTime'> {
  const type = 'APIBindingsInitialized';
  if (missing.length === 0) {
    const message = `APIBinding(s) not yet fully bound: ${incomplete.join(', ')}`;
    return lacks(type, { severity: 'Info', reason: 'WaitingOnAPIBindings', message });
  }
  const message = `encountered errors: unable to complete initialization: unable to find at least 1 APIExport: ${missing.join(', ')}`;
  return lacks(type, { severity: 'Error', reason: 'APIBindingErrors', message });
}

async function completeInitialization(progress: { logicalCluster: LogicalCluster }, actions: LogicalClusterActions): Promise<undefined> {
  const { status } = progress.logicalCluster;
  if (status?.phase !== 'Initializing') return;
  const { initializers = [] } = status;
  if (initializers.length > 0) {
    const message = `Initializers still exist: [${initializers.join(' ')}]`;
    await report(progress, [lacks('WorkspaceInitialized', { severity: 'Info', reason: 'InitializerExists', message })], actions);
    return;
  }
  progress.logicalCluster = {
    ...progress.logicalCluster,
    status: { ...status, phase: 'Ready', conditions: withConditions(status.conditions, [holds('WorkspaceInitialized')], actions.now()) },
  };
  progress.logicalCluster = await actions.updateStatus(progress.logicalCluster);
}

async function report(
  progress: { logicalCluster: LogicalCluster },
  conditions: readonly Omit<KcpCondition, 'lastTransitionTime'>[],
  { updateStatus, now }: LogicalClusterActions,
  initializers?: string[],
): Promise<void> {
  const { status } = progress.logicalCluster;
  const all = withConditions(status?.conditions, conditions, now());
  if (all === status?.conditions && initializers === undefined) return;
  const next = { ...status, conditions: all, ...(initializers !== undefined && { initializers }) };
  progress.logicalCluster = await updateStatus({ ...progress.logicalCluster, status: next });
}
