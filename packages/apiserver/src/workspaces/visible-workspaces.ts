import { ownerAnnotation, rootCluster, type User, type Workspace } from '@capstan/api';
import { fieldsOf, textOf } from '@capstan/machinery';
import { type Authorizer, nothingWanted } from '../authz/attributes.ts';
import type { CacheEntry } from '../cache/entry.ts';
import type { Visible } from '../registry/scope.ts';
import type { ParsedRequest } from '../request/info.ts';
import { isSystem } from './system-user.ts';
import { type Tree, workspaces } from './tree.ts';

export interface VisibleWorkspacesOptions {
  readonly tree: Tree;
  /** Decides by roles alone. */
  readonly rbac: Authorizer;
  readonly mayEnter: (user: User, cluster: NonNullable<ReturnType<Tree['resolve']>>) => boolean;
}

/**
 * Everybody may read the workspaces of root, to find their own. Users see those that they may enter or have created; those who may change all of
 * them see all.
 */
export function visibleWorkspaces({
  tree,
  rbac,
  mayEnter,
}: VisibleWorkspacesOptions): (info: ParsedRequest, user: User) => Visible | undefined {
  return (info, user) => {
    if (!info.isResource || info.group !== workspaces.group || info.resource !== workspaces.resource || info.name === '~') return undefined;
    if (isSystem(user) || rbac.authorize({ ...changingAll, user }).allowed) return undefined;
    const shows = (entry: CacheEntry): boolean => {
      const { spec, metadata } = entry.passingObject as Workspace;
      if (spec?.mount !== undefined) return true;
      const cluster = spec?.cluster ? tree.resolve(spec.cluster) : undefined;
      return (cluster !== undefined && mayEnter(user, cluster)) || isOwner(user, metadata.annotations?.[ownerAnnotation]);
    };
    return { key: `workspaces of ${JSON.stringify(user)}`, shows };
  };
}

const changingAll = {
  ...nothingWanted,
  isResource: true,
  ...workspaces,
  version: 'v1alpha1',
  cluster: rootCluster,
  verb: 'update',
} as const;

function isOwner(user: User, annotation: string | undefined): boolean {
  try {
    return annotation !== undefined && textOf(fieldsOf(JSON.parse(annotation))['username']) === user.name;
  } catch {
    return false;
  }
}
