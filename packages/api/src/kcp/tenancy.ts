import type { KubeObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { KcpCondition } from './conditions.ts';

const tenancy = clusterScoped('tenancy.kcp.io', 'v1alpha1');
const core = clusterScoped('core.kcp.io', 'v1alpha1');

export const workspaceKind = tenancy('workspaces', 'Workspace');
export const workspaceTypeKind = tenancy('workspacetypes', 'WorkspaceType');
export const logicalClusterKind = core('logicalclusters', 'LogicalCluster');
export const shardKind = core('shards', 'Shard');

export type WorkspacePhase = 'Scheduling' | 'Initializing' | 'Ready' | 'Unavailable';

export interface Workspace extends KubeObject {
  spec?: {
    type?: { name: string; path?: string };
    location?: {
      selector?: { matchLabels?: Record<string, string>; matchExpressions?: { key: string; operator: string; values?: string[] }[] };
    };
    cluster?: string;
    URL?: string;
    mount?: object;
  };
  status?: { phase?: WorkspacePhase; initializers?: string[]; terminators?: string[]; conditions?: readonly KcpCondition[] };
}

export interface LogicalCluster extends KubeObject {
  spec?: {
    owner?: { apiVersion: string; resource: string; name: string; cluster: string; uid: string };
    initializers?: string[];
    terminators?: string[];
    directlyDeletable?: boolean;
  };
  status?: { phase?: WorkspacePhase; URL?: string; initializers?: string[]; terminators?: string[]; conditions?: readonly KcpCondition[] };
}

export interface Shard extends KubeObject {
  spec?: { baseURL?: string; externalURL?: string; virtualWorkspaceURL?: string };
}

export interface WorkspaceType extends KubeObject {
  spec?: {
    extend?: { with?: readonly { name: string; path?: string }[] };
    defaultAPIBindings?: readonly { export: string; path?: string }[];
    defaultAPIBindingLifecycle?: 'InitializeOnly' | 'Maintain';
  };
  status?: { virtualWorkspaces?: { url: string; type: string }[]; conditions?: readonly KcpCondition[] };
}

/** The URL at which people reach a shard. */
export function shardAddress({ spec }: Shard): string {
  return spec?.externalURL ?? spec?.baseURL ?? '';
}

/** The user name in an owner annotation; undefined if it names nobody. */
export function ownerName(annotation: string | undefined): string | undefined {
  if (annotation === undefined) return undefined;
  try {
    const { username } = JSON.parse(annotation) as { username?: unknown };
    return typeof username === 'string' && username !== '' ? username : undefined;
  } catch {
    return undefined;
  }
}

/** The owner annotation without what is needed only while the workspace is created; undefined if there is nothing to remove. */
export function trimmedOwner(annotation: string | undefined): string | undefined {
  const username = ownerName(annotation);
  if (username === undefined) return undefined;
  const short = JSON.stringify({ username });
  return short === annotation ? undefined : short;
}
