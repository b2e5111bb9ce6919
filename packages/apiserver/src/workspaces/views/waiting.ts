import {
  asClusterId,
  type ClusterId,
  everyCluster,
  type LogicalCluster,
  ownerAnnotation,
  rootCluster,
  superuserGroup,
  type User,
} from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { FieldPath, fieldError, fieldsOf, status, stringMapOf, textOf, textsOf } from '@capstan/machinery';
import type { Authorizer, Gate } from '../../authz/attributes.ts';
import { scopesExtra, warrantsExtra } from '../../authz/effective-users.ts';
import { forbidden } from '../../authz/wording.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { type AdmissionPlugin, isValidated } from '../../registry/admission.ts';
import { attributesOf } from '../../registry/attributes.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { ParsedRequest } from '../../request/info.ts';
import type { WorkspaceView } from '../scopes.ts';
import { logicalClusterOf, logicalClusters } from '../tree.ts';
import { workspaceTypes } from '../types/workspace-types.ts';
import { singleKind } from './single-kind.ts';

/** The differences between initializing and terminating workspaces. */
export interface Waiter {
  /** The required verb on the type. */
  readonly verb: 'initialize' | 'terminate';
  /** The field in the status of a LogicalCluster that lists them. */
  readonly field: 'initializers' | 'terminators';
  /** Whether a workspace currently waits for a name. */
  readonly isWaiting: (logicalCluster: LogicalCluster, name: string) => boolean;
  /** Whether they can access the workspace's content, on behalf of its creator. */
  readonly entersContent: boolean;
}

export const initializing: Waiter = {
  verb: 'initialize',
  field: 'initializers',
  isWaiting: ({ status: state }, name) => state?.phase === 'Initializing' && state.initializers?.includes(name) === true,
  entersContent: true,
};

export const terminating: Waiter = {
  verb: 'terminate',
  field: 'terminators',
  isWaiting: ({ metadata, status: state }, name) => metadata.deletionTimestamp !== undefined && state?.terminators?.includes(name) === true,
  entersContent: false,
};

interface Options {
  readonly objects: ObjectReader;
  readonly catalogs: Catalogs;
  /** Authorizes by roles alone. */
  readonly rbac: Authorizer;
  /** Authorizes requests in a workspace. */
  readonly authorizer: Gate;
}

/** Permission was checked when the scope was created. */
const permitted: Authorizer = { authorize: () => ({ allowed: true, reason: '' }) };

/** Shows an initializer or terminator of a type the LogicalClusters that wait for it. It may remove its own name from them. */
export function waitingView(waiter: Waiter, { objects, catalogs, rbac, authorizer }: Options): WorkspaceView {
  let all: Catalog | undefined;
  let one: Catalog | undefined;
  const kind = () => catalogs.of(rootCluster).resource(logicalClusters.group, 'v1alpha1', logicalClusters.resource)!;
  const shows =
    (name: string) =>
    (_: unknown, entry: CacheEntry): boolean =>
      waiter.isWaiting(entry.object as LogicalCluster, name);
  return {
    scope({ of, cluster, info, user }) {
      const name = of[0]!;
      permit(name, { waiter, info, user, rbac });
      const view = { cluster, key: `${waiter.verb} ${name} ${cluster}`, shows: shows(name), authorizer: permitted };
      if (cluster === everyCluster) return { ...view, catalog: (all ??= singleKind(kind(), [])) };
      const found = logicalClusterOf(objects, cluster);
      const isWaiting = found !== undefined && waiter.isWaiting(found, name);
      if (isAboutCluster(info) || !waiter.entersContent) {
        if (info.isResource && !isWaiting) throw status.notFound(logicalClusters, info.name);
        return {
          ...view,
          catalog: (one ??= singleKind(kind(), ['get', 'patch', 'update'])),
          admission: { validate: onlyRemoves(waiter, name) },
        };
      }
      if (!isWaiting) throw status.forbidden(info, info.name, `initializer ${JSON.stringify(name)} cannot access this workspace`);
      const owner = ownerOf(found.metadata.annotations?.[ownerAnnotation], cluster);
      return {
        cluster,
        catalog: catalogs.of(cluster),
        key: cluster,
        authorizer: { authorize: (attributes) => authorizer.authorize({ ...attributes, user: owner }) },
        insideAs: (user) => withWarrant(user, { ...owner, extra: { ...owner.extra, [scopesExtra]: [`cluster:${cluster}`] } }),
      };
    },
  };
}

/** The only change that a view allows is removing one's own name from the list. */
function onlyRemoves({ field }: Waiter, name: string): NonNullable<AdmissionPlugin['validate']> {
  return (request) => {
    if (!isValidated(request, logicalClusters)) return;
    const { operation, resource, object, old } = request;
    if (operation !== 'UPDATE') return;
    const had = old!.status?.[field] ?? [];
    const has = object!.status?.[field] ?? [];
    if (had.length - has.length === 1 && !has.includes(name) && has.every((one) => had.includes(one))) return;
    const why = `only removing the ${JSON.stringify(name)} ${field.slice(0, -1)} is supported`;
    const problem = fieldError.invalid(FieldPath.of('status', field), [...has], why);
    throw status.invalidObject({ group: resource.group, kind: resource.kind }, object!.metadata.name ?? '', [problem]);
  };
}

function isAboutCluster({ isResource, group, resource }: ParsedRequest): boolean {
  return isResource && group === logicalClusters.group && resource === logicalClusters.resource;
}

/** The name is that of a type, prefixed with the id of its workspace. */
function permit(name: string, { waiter, info, user, rbac }: { waiter: Waiter; info: ParsedRequest; user: User; rbac: Authorizer }): void {
  if (user.groups.includes(superuserGroup)) return;
  const colon = name.lastIndexOf(':');
  const asked = {
    ...wanting,
    cluster: asClusterId(name.slice(0, Math.max(colon, 0))),
    user,
    verb: waiter.verb,
    name: name.slice(colon + 1),
  };
  if (colon > 0 && rbac.authorize(asked).allowed) return;
  throw forbidden(attributesOf(info, user), 'access denied');
}

const wanting = { isResource: true, ...workspaceTypes, version: 'v1alpha1', subresource: '', namespace: '', path: '' } as const;

/** The creator of the workspace, on whose behalf initializers act. */
function ownerOf(annotation: string | undefined, cluster: ClusterId): User {
  const { username, uid, groups, extra } = fieldsOf(parse(annotation));
  if (textOf(username) === '') throw status.internalError(`LogicalCluster ${cluster}|cluster had no user recorded`);
  return {
    name: textOf(username),
    ...(textOf(uid) !== '' && { uid: textOf(uid) }),
    groups: [...textsOf(groups)],
    ...(extra !== undefined && { extra: stringMapOf(extra) as unknown as NonNullable<User['extra']> }),
  };
}

/** An initializer has the owner's rights in the workspace, and nowhere else. */
function withWarrant(user: User, { name, ...owner }: User): User {
  const warrants = [...(user.extra?.[warrantsExtra] ?? []), JSON.stringify({ user: name, ...owner })];
  return { ...user, extra: { ...user.extra, [warrantsExtra]: warrants } };
}

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
