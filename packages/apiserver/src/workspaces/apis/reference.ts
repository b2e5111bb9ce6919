import { apisGroup, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, textOf } from '@capstan/machinery';
import type { Authorizer } from '../../authz/attributes.ts';
import { isSystem } from '../system-user.ts';
import type { Tree } from '../tree.ts';
import { apiExports } from './names.ts';

/** An export, as somebody named it. */
export interface ExportReference {
  /** Empty for the workspace in which it is named. */
  readonly path: string;
  readonly name: string;
}

export interface ExportAccess {
  readonly objects: ObjectReader;
  readonly tree: Tree;
  /** The rules inside workspaces. Whoever binds need not be able to enter the provider's workspace. */
  readonly rbac: Authorizer;
}

/** What a binding refers to; undefined when it refers to nothing. */
export function referenceOf({ spec }: KubeObject): ExportReference | undefined {
  const { path, name } = fieldsOf(fieldsOf(fieldsOf(spec)['reference'])['export']);
  return name === undefined ? undefined : { path: textOf(path), name: textOf(name) };
}

export function printReference({ path, name }: ExportReference): string {
  return path === '' ? name : `${path}:${name}`;
}

/** The id of the workspace that an export is in; undefined when the path leads nowhere or there is no such export. */
export function exportCluster({ objects, tree }: ExportAccess, { path, name }: ExportReference, cluster: string): string | undefined {
  if (path === '') return cluster;
  const id = tree.resolve(path);
  return id !== undefined && objects.get({ ...apiExports, cluster: id, namespace: '', name }) !== undefined ? id : undefined;
}

export function mayBind({ rbac }: ExportAccess, user: User, { cluster, name }: { cluster: string; name: string }): boolean {
  if (isSystem(user)) return true;
  const asked = { verb: 'bind', isResource: true, group: apisGroup, version: 'v1alpha1', resource: 'apiexports', subresource: '' };
  return rbac.authorize({ ...asked, cluster, user, namespace: '', name, path: '' }).allowed;
}
