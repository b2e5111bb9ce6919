import { everyCluster, superuserGroup } from '@capstan/api';
import { status } from '@capstan/machinery';
import type { Decision, Gate } from '../../authz/attributes.ts';
import type { CacheEntry } from '../../cache/entry.ts';
import { WorkspaceKinds } from '../../crds/kinds.ts';
import type { Catalog } from '../../registry/catalog.ts';
import { notedEntry } from '../../registry/resource.ts';
import type { PlatformKinds } from '../kinds/platform-kinds.ts';
import type { WorkspaceView } from '../scopes.ts';
import { denied } from './apiexport.ts';

interface Options {
  readonly catalog: Catalog;
  readonly platform: PlatformKinds;
}

/** The kinds that the shards of kcp share through a cache of copies. */
const copied: ReadonlySet<string> = new Set([
  ...['apiconversions', 'apiexportendpointslices', 'apiexports', 'apiresourceschemas'].map((name) => `apis.kcp.io/${name}`),
  ...['cachedresourceendpointslices', 'cachedresources'].map((name) => `cache.kcp.io/${name}`),
  ...['logicalclusters', 'shards'].map((name) => `core.kcp.io/${name}`),
  'tenancy.kcp.io/workspacetypes',
  ...['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'].map((name) => `rbac.authorization.k8s.io/${name}`),
  ...['mutatingwebhookconfigurations', 'validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
    (name) => `admissionregistration.k8s.io/${name}`,
  ),
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
]);

const shard = 'root';
const changes: ReadonlySet<string> = new Set(['update', 'patch', 'delete']);
const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
const allowed: Decision = { allowed: true, reason: '' };

/** Only other parts of the platform use it. */
const platformOnly: Gate = {
  authorize: ({ user, verb, isResource }) => (user.groups.includes(superuserGroup) && (!isResource || reads.has(verb)) ? allowed : denied),
};

/**
 * `/services/cache/shards/<shard>`: copies of the objects that other shards need. This server is the only shard and its store is the cache,
 * so a copy always equals its original. kcp reverts changes to copies; here they have no effect, and the response is the current object.
 */
export function shardCacheView(options: Options): WorkspaceView {
  let catalog: Catalog | undefined;
  return {
    scope({ of: [kind, name], cluster, info }) {
      if (kind !== 'shards') throw status.noSuchResource();
      const isShown = name === shard || name === everyCluster;
      return {
        cluster,
        catalog: (catalog ??= kindsOf(options)),
        key: `cache/${name}/${cluster}`,
        labelled: (_, entry) => copyOf(entry),
        authorizer: platformOnly,
        ...(!isShown && { shows: () => false }),
        ...(changes.has(info.verb) && { verb: 'get' }),
      };
    },
  };
}

function kindsOf({ catalog, platform }: Options): Catalog {
  const kinds = new WorkspaceKinds();
  for (const key of copied) {
    const definition = platform.all.get(key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1));
    if (definition !== undefined) kinds.set(definition);
  }
  return catalog.only((group, resource) => copied.has(`${group}/${resource}`), kinds);
}

/** A copy is annotated with its shard, and the version and UID of its original. */
function copyOf(entry: CacheEntry): CacheEntry {
  const { uid = '' } = entry.object.metadata;
  return notedEntry(entry, {
    'kcp.io/shard': shard,
    'cache.kcp.io/original-resource-version': String(entry.revision),
    'cache.kcp.io/original-resource-UID': uid,
  });
}
