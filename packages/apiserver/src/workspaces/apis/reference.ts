import { apisGroup, type ClusterId, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { Authorizer } from '../../authz/attributes.ts';
import { apiExports } from '../../bindings/names.ts';
import type { ExportReference } from '../../bindings/reference.ts';
import { isSystem } from '../system-user.ts';
import type { Tree } from '../tree.ts';

export interface ExportAccess {
  readonly objects: ObjectReader;
  readonly tree: Tree;
  /** The rules of workspaces. Binding does not require access to the provider's workspace. */
  readonly rbac: Authorizer;
}

export function printReference({ path, name }: ExportReference): string {
  return path === '' ? name : `${path}:${name}`;
}

/** The id of the workspace of an export; undefined if the workspace or the export is missing. */
export function exportCluster({ objects, tree }: ExportAccess, { path, name }: ExportReference, cluster: ClusterId): ClusterId | undefined {
  if (path === '') return cluster;
  const id = tree.resolve(path);
  return id !== undefined && objects.get({ ...apiExports, cluster: id, namespace: '', name }) !== undefined ? id : undefined;
}

export function mayBind({ rbac }: ExportAccess, user: User, { cluster, name }: { cluster: ClusterId; name: string }): boolean {
  if (isSystem(user)) return true;
  const asked = { verb: 'bind', isResource: true, group: apisGroup, version: 'v1alpha1', resource: 'apiexports', subresource: '' };
  return rbac.authorize({ ...asked, cluster, user, namespace: '', name, path: '' }).allowed;
}
