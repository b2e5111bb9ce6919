import { everyCluster, ownerAnnotation, rootCluster, superuserGroup, type User } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { FieldPath, fieldError, fieldsOf, status, stringMapOf, textOf, textsOf } from '@capstan/machinery';
import type { Authorizer, Gate } from '../../authz/attributes.ts';
import { scopesExtra, warrantsExtra } from '../../authz/effective-users.ts';
import { forbidden } from '../../authz/wording.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import type { AdmissionPlugin } from '../../registry/admission.ts';
import { attributesOf } from '../../registry/attributes.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Catalogs } from '../../registry/catalogs.ts';
import type { RequestInfo } from '../../registry/scope.ts';
import type { WorkspaceView } from '../scopes.ts';
import { logicalClusterOf, logicalClusters } from '../tree.ts';
import { workspaceTypes } from '../types/workspace-types.ts';
import { singleKind } from './single-kind.ts';

/** What tells those who initialize workspaces from those who end them. */
export interface Waiter {
  /** The verb on the type that permits it. */
  readonly verb: 'initialize' | 'terminate';
  /** Where in the status of a LogicalCluster they are listed. */
  readonly field: 'initializers' | 'terminators';
  /** Whether a workspace waits for a name now. */
  readonly isWaiting: (logicalCluster: object, name: string) => boolean;
  /** Whether they may look into the workspace, as the one who made it. */
  readonly entersContent: boolean;
}

export const initializing: Waiter = {
  verb: 'initialize',
  field: 'initializers',
  isWaiting: (object, name) => {
    const { phase, initializers } = fieldsOf(fieldsOf(object)['status']);
    return textOf(phase) === 'Initializing' && textsOf(initializers).includes(name);
  },
  entersContent: true,
};

export const terminating: Waiter = {
  verb: 'terminate',
  field: 'terminators',
  isWaiting: (object, name) => {
    const { metadata, status: state } = fieldsOf(object);
    return fieldsOf(metadata)['deletionTimestamp'] !== undefined && textsOf(fieldsOf(state)['terminators']).includes(name);
  },
  entersContent: false,
};

interface Options {
  readonly objects: ObjectReader;
  readonly catalogs: Catalogs;
  /** Decides by roles alone. */
  readonly rbac: Authorizer;
  /** Decides who may do what in a workspace. */
  readonly authorizer: Gate;
}

/** The permission was asked for when the scope was made. */
const permitted: Authorizer = { authorize: () => ({ allowed: true, reason: '' }) };

/** Shows whoever initializes or ends workspaces of a type those that wait for it. They see the LogicalClusters, and may take their own name from them. */
export function waitingView(waiter: Waiter, { objects, catalogs, rbac, authorizer }: Options): WorkspaceView {
  let all: Catalog | undefined;
  let one: Catalog | undefined;
  const kind = () => catalogs.of(rootCluster).resource(logicalClusters.group, 'v1alpha1', logicalClusters.resource)!;
  const shows =
    (name: string) =>
    (_: unknown, entry: CacheEntry): boolean =>
      waiter.isWaiting(entry.object, name);
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

/** Through a view, one name may be taken from the list of those who are waited for: one's own. */
function onlyRemoves({ field }: Waiter, name: string): NonNullable<AdmissionPlugin['validate']> {
  return ({ operation, resource, object, old }) => {
    if (operation !== 'UPDATE') return;
    const had = textsOf(fieldsOf(old!['status'])[field]);
    const has = textsOf(fieldsOf(object!['status'])[field]);
    if (had.length - has.length === 1 && !has.includes(name) && has.every((one) => had.includes(one))) return;
    const why = `only removing the ${JSON.stringify(name)} ${field.slice(0, -1)} is supported`;
    const problem = fieldError.invalid(FieldPath.of('status', field), [...has], why);
    throw status.invalidObject({ group: resource.group, kind: resource.kind }, object!.metadata.name ?? '', [problem]);
  };
}

function isAboutCluster({ isResource, group, resource }: RequestInfo): boolean {
  return isResource && group === logicalClusters.group && resource === logicalClusters.resource;
}

/** The name is that of a type, with its workspace's id before it. */
function permit(name: string, { waiter, info, user, rbac }: { waiter: Waiter; info: RequestInfo; user: User; rbac: Authorizer }): void {
  if (user.groups.includes(superuserGroup)) return;
  const colon = name.lastIndexOf(':');
  const asked = { ...wanting, cluster: name.slice(0, Math.max(colon, 0)), user, verb: waiter.verb, name: name.slice(colon + 1) };
  if (colon > 0 && rbac.authorize(asked).allowed) return;
  throw forbidden(attributesOf(info, user), 'access denied');
}

const wanting = { isResource: true, ...workspaceTypes, version: 'v1alpha1', subresource: '', namespace: '', path: '' } as const;

/** Who made the workspace: what is done in it on the way to its first use is done in their name. */
function ownerOf(annotation: string | undefined, cluster: string): User {
  const { username, uid, groups, extra } = fieldsOf(parse(annotation));
  if (textOf(username) === '') throw status.internalError(`LogicalCluster ${cluster}|cluster had no user recorded`);
  return {
    name: textOf(username),
    ...(textOf(uid) !== '' && { uid: textOf(uid) }),
    groups: [...textsOf(groups)],
    ...(extra !== undefined && { extra: stringMapOf(extra) as unknown as NonNullable<User['extra']> }),
  };
}

/** Whoever initializes a workspace has its owner's rights in it, and nowhere else. */
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
