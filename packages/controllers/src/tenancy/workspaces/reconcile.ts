import {
  type CreatedWorkspace,
  clusterIdAnnotation,
  type LogicalCluster,
  lacks,
  type NewCondition,
  ownerAnnotation,
  type PurgedWorkspace,
  pathAnnotation,
  phaseLabel,
  requiredGroupsAnnotation,
  type Shard,
  shardAddress,
  shardAnnotation,
  trimmedOwner,
  typeAnnotation,
  type Workspace,
  withConditions,
  workspaceFinalizer,
  workspacePhase,
  workspaceStatus,
} from '@capstan/api';
import { shardHash } from '@capstan/api/hashes';
import { done, type Result, requeueAfter } from '@capstan/controller';
import { type JsonObject, sameJson } from '@capstan/machinery';
import { remaining, waitFor } from '../remains.ts';
import { chooseShard } from './scheduling.ts';

/** The actions available to the steps. `cluster` is the id of the workspace that contains the Workspace. */
export interface WorkspaceActions {
  readonly cluster: string;
  readonly shards: () => readonly Shard[];
  /** From the shared copy. */
  readonly logicalCluster: (id: string) => LogicalCluster | undefined;
  /** From the server, because the copy may be behind. */
  readonly readLogicalCluster: (id: string) => Promise<LogicalCluster | undefined>;
  /** Creates it, unless it exists, and updates the Workspace unless that has changed meanwhile. Returns undefined if another workspace has that id. */
  readonly create: (
    id: string,
    wanted: { logicalCluster: LogicalCluster; url: string; shard: string },
  ) => Promise<CreatedWorkspace | undefined>;
  /** Empties it, and removes the finalizer of the Workspace once it is gone. */
  readonly purge: (id: string) => Promise<PurgedWorkspace>;
  readonly patch: (patch: JsonObject) => Promise<unknown>;
  readonly patchStatus: (patch: JsonObject) => Promise<unknown>;
  readonly newId: () => string;
  readonly now: () => Date;
}

/** A step ends the reconcile by returning a result. */
type Step = (progress: Progress, actions: WorkspaceActions) => Promise<Result | undefined> | Result | undefined;

/** The findings so far; each step adds to them. */
interface Progress {
  readonly workspace: Workspace;
  logicalCluster: LogicalCluster | undefined;
  shard: Shard | undefined;
}

const steps: readonly Step[] = [finalizeWorkspace, findShard, createLogicalCluster, describeWorkspace, reportPhase];

/** Gives a Workspace its logical cluster, reports its phase, and ends both. It keeps no state, so it can continue after a crash at any point. */
export async function reconcileWorkspace(workspace: Workspace | undefined, actions: WorkspaceActions): Promise<Result> {
  if (workspace === undefined || workspace.spec?.mount !== undefined) return done;
  const progress: Progress = { workspace, logicalCluster: undefined, shard: undefined };
  for (const step of steps) {
    const result = await step(progress, actions);
    if (result !== undefined) return result;
  }
  return done;
}

/** Waits for the finalizers of others first: they may still need the content of the workspace. */
async function finalizeWorkspace({ workspace }: Progress, actions: WorkspaceActions): Promise<Result | undefined> {
  const { metadata } = workspace;
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (metadata.finalizers?.length !== 1 || metadata.finalizers[0] !== workspaceFinalizer) return done;
  const id = idOf(workspace);
  const logicalCluster = id === undefined ? undefined : actions.logicalCluster(id);
  // Once it is being deleted, its own controller empties it and reports what it waits for.
  if (logicalCluster?.metadata.deletionTimestamp !== undefined) return reportEnd(workspace, logicalCluster, actions);
  const purged = id === undefined || !isOurs(logicalCluster, workspace) ? undefined : await actions.purge(id);
  if (purged?.workspaceDeleted === true) return done;
  if (purged === undefined || purged.gone) {
    await actions.patch({ metadata: { finalizers: null, resourceVersion: metadata.resourceVersion! } });
    return done;
  }
  await writeStatus(workspace, { conditions: [remaining(purged.remains)] }, actions);
  return requeueAfter(waitFor(metadata.deletionTimestamp, actions.now()));
}

async function reportEnd(workspace: Workspace, { status }: LogicalCluster, actions: WorkspaceActions): Promise<Result> {
  const condition = status?.conditions?.find(({ type }) => type === 'WorkspaceContentDeleted');
  const terminators = status?.terminators ?? [];
  await writeStatus(workspace, { conditions: condition === undefined ? [] : [condition], terminators }, actions);
  if (workspace.metadata.labels?.[phaseLabel] !== 'Deleting') await actions.patch({ metadata: { labels: { [phaseLabel]: 'Deleting' } } });
  return requeueAfter(waitFor(workspace.metadata.deletionTimestamp, actions.now()));
}

async function findShard(progress: Progress, actions: WorkspaceActions): Promise<Result | undefined> {
  const { workspace } = progress;
  const shards = actions.shards();
  const hash = workspace.metadata.annotations?.[shardAnnotation];
  const chosen = hash === undefined ? chooseShard(workspace, shards) : shards.find(({ metadata }) => shardHash(metadata.name!) === hash);
  if (typeof chosen === 'object') {
    progress.shard = chosen;
    return undefined;
  }
  const message = chosen ?? `chosen shard hash "${hash}" does not exist anymore`;
  const condition = lacks('WorkspaceScheduled', { severity: 'Error', reason: 'Unschedulable', message });
  await writeStatus(workspace, { conditions: [condition] }, actions);
  return done;
}

async function createLogicalCluster(progress: Progress, actions: WorkspaceActions): Promise<Result | undefined> {
  const { workspace } = progress;
  const id = idOf(workspace);
  if (id === undefined) {
    await actions.patch({ metadata: { annotations: { [clusterIdAnnotation]: actions.newId() }, finalizers: withOurs(workspace) } });
    return done;
  }
  progress.logicalCluster = actions.logicalCluster(id);
  if (isScheduled(workspace)) {
    progress.logicalCluster ??= await actions.readLogicalCluster(id);
    return undefined;
  }
  const parent = actions.logicalCluster(actions.cluster);
  if (parent === undefined) return requeueAfter(100);
  const path = `${parent.metadata.annotations?.[pathAnnotation] ?? actions.cluster}:${workspace.metadata.name}`;
  const created = await actions.create(id, {
    logicalCluster: logicalClusterFor(workspace, { path, cluster: actions.cluster }),
    url: urlOf(progress.shard!, path),
    shard: shardHash(progress.shard!.metadata.name!),
  });
  if (created === undefined) {
    await actions.patch({ metadata: { annotations: { [clusterIdAnnotation]: actions.newId() } } });
    return done;
  }
  if (created.workspaceUpdated) return done;
  progress.logicalCluster = created.logicalCluster;
}

/** Writes the labels, annotations and spec fields that clients read. */
async function describeWorkspace({ workspace, logicalCluster, shard }: Progress, actions: WorkspaceActions): Promise<undefined> {
  const { metadata, spec } = workspace;
  const id = idOf(workspace)!;
  const parentPath = actions.logicalCluster(actions.cluster)?.metadata.annotations?.[pathAnnotation] ?? actions.cluster;
  const url = urlOf(shard!, `${parentPath}:${metadata.name}`);
  const phase = workspacePhase(logicalCluster);
  const annotations: Record<string, string> = {};
  const hash = shardHash(shard!.metadata.name!);
  if (metadata.annotations?.[shardAnnotation] !== hash) annotations[shardAnnotation] = hash;
  const owner = phase === 'Ready' ? trimmedOwner(metadata.annotations?.[ownerAnnotation]) : undefined;
  if (owner !== undefined) annotations[ownerAnnotation] = owner;
  const isSame =
    Object.keys(annotations).length === 0 && metadata.labels?.[phaseLabel] === phase && spec?.cluster === id && spec.URL === url;
  if (!isSame) await actions.patch({ metadata: { annotations, labels: { [phaseLabel]: phase } }, spec: { cluster: id, URL: url } });
}

async function reportPhase({ workspace, logicalCluster }: Progress, actions: WorkspaceActions): Promise<undefined> {
  const { status = {} } = workspace;
  const wanted = workspaceStatus(logicalCluster, status.conditions, actions.now());
  const patch: Record<string, unknown> = {};
  for (const field of ['phase', 'initializers', 'terminators', 'conditions'] as const)
    if (!sameJson(wanted[field], status[field])) patch[field] = wanted[field] ?? null;
  if (Object.keys(patch).length > 0) await actions.patchStatus({ status: patch as JsonObject });
}

interface StatusChange {
  readonly terminators?: readonly string[];
  readonly conditions: readonly NewCondition[];
}

async function writeStatus({ status = {} }: Workspace, change: StatusChange, actions: WorkspaceActions): Promise<void> {
  const conditions = withConditions(status.conditions, change.conditions, actions.now());
  const patch: Record<string, unknown> = {};
  if (conditions !== status.conditions && conditions.length > 0) patch['conditions'] = conditions;
  const { terminators } = change;
  if (terminators !== undefined && !sameJson(terminators, status.terminators ?? []))
    patch['terminators'] = terminators.length === 0 ? null : terminators;
  if (Object.keys(patch).length > 0) await actions.patchStatus({ status: patch as JsonObject });
}

function logicalClusterFor({ metadata, spec }: Workspace, place: { path: string; cluster: string }): LogicalCluster {
  const { [ownerAnnotation]: owner, [requiredGroupsAnnotation]: groups } = metadata.annotations ?? {};
  return {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: {
      name: 'cluster',
      annotations: {
        [typeAnnotation]: `${spec?.type?.path ?? ''}:${spec?.type?.name ?? ''}`,
        [pathAnnotation]: place.path,
        ...(owner !== undefined && { [ownerAnnotation]: owner }),
        ...(groups !== undefined && { [requiredGroupsAnnotation]: groups }),
      },
    },
    spec: {
      owner: {
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        resource: 'workspaces',
        name: metadata.name!,
        cluster: place.cluster,
        uid: metadata.uid!,
      },
    },
  };
}

function urlOf(shard: Shard, path: string): string {
  return `${shardAddress(shard)}/clusters/${path}`;
}

function idOf({ metadata, spec }: Workspace): string | undefined {
  return spec?.cluster ?? metadata.annotations?.[clusterIdAnnotation];
}

function isScheduled({ spec }: Workspace): boolean {
  return spec?.cluster !== undefined && spec.URL !== undefined;
}

/** A missing one counts as ours: ids are never reused. */
export function isOurs(logicalCluster: LogicalCluster | undefined, { metadata }: Workspace): boolean {
  return logicalCluster === undefined || logicalCluster.spec?.owner?.uid === metadata.uid;
}

function withOurs({ metadata }: Workspace): string[] {
  return [...new Set([...(metadata.finalizers ?? []), workspaceFinalizer])];
}
