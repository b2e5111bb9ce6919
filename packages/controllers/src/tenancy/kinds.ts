import type { KindType } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import type { Condition } from '../kcp-conditions.ts';

export const workspaceType: KindType = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspaces',
  namespaced: false,
  kind: 'Workspace',
};
export const workspaceTypeType: KindType = {
  group: 'tenancy.kcp.io',
  version: 'v1alpha1',
  resource: 'workspacetypes',
  namespaced: false,
  kind: 'WorkspaceType',
};
export const logicalClusterType: KindType = {
  group: 'core.kcp.io',
  version: 'v1alpha1',
  resource: 'logicalclusters',
  namespaced: false,
  kind: 'LogicalCluster',
};
export const shardType: KindType = { group: 'core.kcp.io', version: 'v1alpha1', resource: 'shards', namespaced: false, kind: 'Shard' };

/** The name of the one LogicalCluster that every workspace has. */
export const logicalClusterName = 'cluster';
export const rootCluster = 'root';

export type Phase = 'Scheduling' | 'Initializing' | 'Ready' | 'Unavailable';

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
  status?: { phase?: Phase; initializers?: string[]; terminators?: string[]; conditions?: readonly Condition[] };
}

export interface LogicalCluster extends KubeObject {
  spec?: {
    owner?: { apiVersion: string; resource: string; name: string; cluster: string; uid: string };
    initializers?: string[];
    terminators?: string[];
    directlyDeletable?: boolean;
  };
  status?: { phase?: Phase; URL?: string; initializers?: string[]; terminators?: string[]; conditions?: readonly Condition[] };
}

export interface Shard extends KubeObject {
  spec?: { baseURL?: string; externalURL?: string; virtualWorkspaceURL?: string };
}

export interface WorkspaceTypeObject extends KubeObject {
  spec?: {
    extend?: { with?: readonly { name: string; path?: string }[] };
    defaultAPIBindings?: readonly { export: string; path?: string }[];
    defaultAPIBindingLifecycle?: 'InitializeOnly' | 'Maintain';
  };
  status?: { virtualWorkspaces?: { url: string; type: string }[]; conditions?: readonly Condition[] };
}

/** The server's answer when it has created the content of a workspace. */
export interface Begun {
  readonly logicalCluster: LogicalCluster;
  /** Whether the server has updated the Workspace too. */
  readonly isTold: boolean;
}

/** The server's answer when it has emptied a workspace, as far as it could. */
export interface Purged {
  readonly gone: boolean;
  /** Whether the server has removed the finalizer of the Workspace too. */
  readonly isTold: boolean;
  readonly remains: { readonly resources: Readonly<Record<string, number>>; readonly finalizers: Readonly<Record<string, number>> };
}
