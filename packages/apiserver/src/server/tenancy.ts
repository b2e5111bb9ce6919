import { rootCluster } from '@capstan/api';
import type { Authorizer, Gate } from '../authz/attributes.ts';
import { Bindings } from '../bindings/bindings.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { VirtualObject } from '../handlers/virtual.ts';
import type { AdmissionPlugin } from '../registry/admission.ts';
import type { Catalogs } from '../registry/catalogs.ts';
import type { Backend, ObjectCreation } from '../registry/objects.ts';
import type { Page } from '../registry/page.ts';
import type { ViewName } from '../request/place.ts';
import { builtInKindRules } from '../workspaces/admission/built-in-kinds.ts';
import { logicalClusterRules } from '../workspaces/admission/logical-cluster.ts';
import { workspaceRules } from '../workspaces/admission/workspace.ts';
import { workspaceCount } from '../workspaces/admission/workspace-count.ts';
import { workspaceLifecycle } from '../workspaces/admission/workspace-lifecycle.ts';
import { workspaceTypeRules } from '../workspaces/admission/workspace-type.ts';
import { workspaceTypeUse } from '../workspaces/admission/workspace-type-use.ts';
import { workspaceCreation } from '../workspaces/contents/creation.ts';
import { DefaultBindings } from '../workspaces/contents/default-bindings.ts';
import { contentsPage, contentsPath } from '../workspaces/contents/pages.ts';
import { ReadyExports } from '../workspaces/contents/ready-exports.ts';
import { homeWorkspace } from '../workspaces/home.ts';
import type { Organizations } from '../workspaces/organization.ts';
import { publishedUrl } from '../workspaces/root/bootstrap.ts';
import type { WorkspaceView } from '../workspaces/scopes.ts';
import { logicalClusters, type Tree } from '../workspaces/tree.ts';
import { WorkspaceTypes } from '../workspaces/types/workspace-types.ts';
import { boundSchemasView } from '../workspaces/views/bound-schemas.ts';
import { initializing, terminating, waitingView } from '../workspaces/views/waiting.ts';

export interface Tenancy {
  /** Asked before all others. */
  readonly rules: readonly AdmissionPlugin[];
  /** How workspaces are created: for `Backend.creations`. */
  readonly creations: ReadonlyMap<string, ObjectCreation>;
  /** Operations on whole workspaces. */
  readonly pages: (backend: Backend) => readonly (readonly [string, Page])[];
  readonly views: readonly (readonly [ViewName, WorkspaceView])[];
  /** Objects that are made when they are read, by `group/resource/name`. */
  readonly virtualObjects: ReadonlyMap<string, VirtualObject>;
}

/** How workspaces come to be and end, as far as the server has a part in it. */
export function tenancy(options: {
  readonly cache: WatchCache;
  readonly tree: Tree;
  readonly organizations: Organizations;
  /** How many workspaces an organization may have. */
  readonly workspaceLimit: number | undefined;
  readonly catalogs: Catalogs;
  /** Decides by roles alone, whether or not somebody may enter. */
  readonly rbac: Authorizer;
  /** Decides who may do what in a workspace. */
  readonly authorizer: Gate;
  /** PEM of the authority that clients verify the server with. */
  readonly authority: () => string;
  /** Groups whose members get a home when they ask for it; those whom the root workspace permits it when absent. */
  readonly homeCreators: readonly string[] | undefined;
  readonly now: () => Date;
}): Tenancy {
  const { cache, tree, organizations, workspaceLimit, catalogs, rbac, authorizer, authority, homeCreators, now } = options;
  const { store } = cache;
  const types = new WorkspaceTypes({ objects: cache, tree });
  const bindings = new DefaultBindings({
    objects: cache,
    tree,
    ready: new ReadyExports({ cache, tree, isBuiltin: (group) => catalogs.builtin.isBuiltin(group) }),
  });
  const kinds = () => catalogs.of(rootCluster);
  const url = (): string => publishedUrl(cache) ?? '';
  return {
    rules: [
      workspaceLifecycle(cache),
      workspaceRules,
      workspaceCount(organizations, workspaceLimit),
      workspaceTypeUse({ types, authorizer: rbac }),
      workspaceTypeRules,
      builtInKindRules(catalogs.builtin),
      logicalClusterRules,
    ],
    creations: new Map([[logicalClusters.resource, workspaceCreation({ store, kinds, types, bindings, authority, url })]]),
    views: [
      ['apiresourceschema', boundSchemasView({ cache, catalogs, tree, bindings: new Bindings(cache), authorizer })],
      ['initializingworkspaces', waitingView(initializing, { objects: cache, catalogs, rbac, authorizer })],
      ['terminatingworkspaces', waitingView(terminating, { objects: cache, catalogs, rbac, authorizer })],
    ],
    virtualObjects: new Map([['tenancy.kcp.io/workspaces/~', homeWorkspace({ catalogs, authorizer, creators: homeCreators })]]),
    pages: (backend) => [[contentsPath, contentsPage({ store, cache, objects: cache, backend, kinds, types, bindings, now })]],
  };
}
