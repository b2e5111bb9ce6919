import type { KubeObject } from '@capstan/machinery/objects';
import { clusterScoped } from '../kind.ts';
import type { KcpCondition } from './conditions.ts';

const tenancy = clusterScoped('tenancy.kcp.io', 'v1alpha1');
const core = clusterScoped('core.kcp.io', 'v1alpha1');

export const workspaceKind = tenancy<Workspace>('workspaces', 'Workspace');
export const workspaceTypeKind = tenancy<WorkspaceType>('workspacetypes', 'WorkspaceType');
export const workspaceAuthenticationKind = tenancy<WorkspaceAuthenticationConfiguration>(
  'workspaceauthenticationconfigurations',
  'WorkspaceAuthenticationConfiguration',
);
export const logicalClusterKind = core<LogicalCluster>('logicalclusters', 'LogicalCluster');
export const shardKind = core<Shard>('shards', 'Shard');

export type WorkspacePhase = 'Scheduling' | 'Initializing' | 'Ready' | 'Unavailable';

export interface Workspace extends KubeObject {
  spec?: {
    type?: WorkspaceTypeReference;
    location?: {
      selector?: { matchLabels?: Record<string, string>; matchExpressions?: { key: string; operator: string; values?: string[] }[] };
    };
    cluster?: string;
    URL?: string;
    /** The object that says where the workspace is served, for a workspace that is not stored here. */
    mount?: { readonly ref: MountReference };
  };
  status?: { phase?: WorkspacePhase; initializers?: string[]; terminators?: string[]; conditions?: readonly KcpCondition[] };
}

/** A reference to an object in the workspace of the Workspace. */
export interface MountReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A reference to a WorkspaceType. Without a path, the type is looked up from the workspace upwards. */
export interface WorkspaceTypeReference {
  readonly name: string;
  readonly path?: string;
}

export interface LogicalCluster extends KubeObject {
  spec?: {
    owner?: { apiVersion: string; resource: string; namespace?: string; name: string; cluster: string; uid: string };
    initializers?: string[];
    terminators?: string[];
    directlyDeletable?: boolean;
  };
  status?: { phase?: WorkspacePhase; URL?: string; initializers?: string[]; terminators?: string[]; conditions?: readonly KcpCondition[] };
}

export interface Shard extends KubeObject {
  spec?: { baseURL?: string; externalURL?: string; virtualWorkspaceURL?: string };
  status?: { conditions?: readonly KcpCondition[] };
}

export interface WorkspaceType extends KubeObject {
  spec?: {
    /** Whether workspaces of the type wait for an initializer, or for a terminator. */
    initializer?: boolean;
    terminator?: boolean;
    extend?: { with?: readonly WorkspaceTypeReference[] };
    additionalWorkspaceLabels?: Readonly<Record<string, string>>;
    defaultChildWorkspaceType?: WorkspaceTypeReference;
    limitAllowedChildren?: TypeLimit;
    limitAllowedParents?: TypeLimit;
    defaultAPIBindings?: readonly { export: string; path?: string }[];
    defaultAPIBindingLifecycle?: 'InitializeOnly' | 'Maintain';
    authenticationConfigurations?: readonly { readonly name: string }[];
  };
  status?: { virtualWorkspaces?: { url: string; type?: string }[]; conditions?: readonly KcpCondition[] };
}

/** Which types may be the parents or children of workspaces of a type. */
export interface TypeLimit {
  readonly none?: boolean;
  readonly types?: readonly WorkspaceTypeReference[];
}

/** Issuers whose users may enter workspaces of the types that name it. */
export interface WorkspaceAuthenticationConfiguration extends KubeObject {
  spec?: { readonly jwt?: readonly object[] };
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
