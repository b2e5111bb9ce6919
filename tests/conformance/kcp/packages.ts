/** A package of kcp's end-to-end tests. */
export interface TestPackage {
  readonly name: string;
  /** Why it is not run: all of it, or tests by name. */
  readonly leftOut?: string | Readonly<Record<string, string>>;
  /** Why tests fail that are known to, by name. */
  readonly reasons?: Readonly<Record<string, string>>;
}

const cacheServer = 'is about kcp’s own cache server, which is built into the test: it asks nothing of the server under test';
const shardCopies =
  'reads what a shard copied to kcp’s cache server, at that server’s own paths; here is one shard, and its store is the cache';

export const packages: readonly TestPackage[] = [
  { name: 'apibinding' },
  { name: 'audit' },
  { name: 'authentication' },
  { name: 'authorizer' },
  { name: 'cache', leftOut: { TestCacheServerAllScenarios: cacheServer } },
  { name: 'conformance' },
  { name: 'customresourcedefinition' },
  { name: 'garbagecollector' },
  { name: 'homeworkspaces' },
  { name: 'mounts' },
  { name: 'openapi' },
  { name: 'proxy' },
  { name: 'quota' },
  { name: 'reconciler/apiexport' },
  { name: 'reconciler/apiexportendpointslice' },
  { name: 'reconciler/cache', leftOut: shardCopies },
  { name: 'reconciler/cachedresourceendpointslice' },
  { name: 'reconciler/partitionset' },
  { name: 'reconciler/workspace' },
  { name: 'reconciler/workspacedeletion' },
  { name: 'server' },
  { name: 'virtual/apiexport' },
  { name: 'virtual/initializingworkspaces' },
  { name: 'virtual/replication' },
  { name: 'virtual/terminatingworkspaces' },
  { name: 'virtualresources/cachedresources' },
  { name: 'watchcache' },
  { name: 'workspace' },
  { name: 'workspacetype' },
];
