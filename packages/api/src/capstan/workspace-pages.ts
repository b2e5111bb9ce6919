import type { LogicalCluster } from '../kcp/tenancy.ts';

/** Body of `POST /capstan/workspaces/<id>/create`. */
export interface WorkspaceCreation {
  readonly logicalCluster: LogicalCluster;
  /** Where people will find the workspace. */
  readonly url: string;
  /** The hash of the shard's name. */
  readonly shard: string;
}

/** Response of `POST /capstan/workspaces/<id>/create`. */
export interface CreatedWorkspace {
  readonly logicalCluster: LogicalCluster;
  /** Whether the Workspace was updated too. False if somebody changed it meanwhile: its controller has to update it. */
  readonly workspaceUpdated: boolean;
}

/** Response of `DELETE /capstan/workspaces/<id>/content`. */
export interface PurgedWorkspace {
  readonly gone: boolean;
  /** Whether the Workspace that the request named was deleted too. */
  readonly workspaceDeleted: boolean;
  readonly remains: { readonly resources: Readonly<Record<string, number>>; readonly finalizers: Readonly<Record<string, number>> };
}

/** Response of `POST /capstan/workspaces/<id>/bindings`: default bindings that are not complete, and exports that do not exist. */
export interface DefaultBindingsState {
  readonly incomplete: readonly string[];
  readonly missing: readonly string[];
}

/** Response of `POST /capstan/workspaces/<id>/content`. */
export interface ImportedWorkspace {
  readonly created: number;
  readonly kept: readonly string[];
  readonly skipped: readonly string[];
  readonly rebound: readonly string[];
  readonly unbound: readonly {
    readonly binding: string;
    readonly export: string;
    readonly reason: 'NoExport' | 'OtherIdentity';
    readonly objects: number;
  }[];
}
