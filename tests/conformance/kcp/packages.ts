/** A package of kcp's end-to-end tests. */
export interface TestPackage {
  readonly name: string;
  /** Why it is not run. */
  readonly leftOut?: string;
  /** Why tests fail that are known to, by name. */
  readonly reasons?: Readonly<Record<string, string>>;
}

const cache = 'needs kcp’s cache server and its CachedResource API, which copy objects between shards';

export const packages: readonly TestPackage[] = [
  { name: 'apibinding' },
  { name: 'audit' },
  { name: 'authentication' },
  {
    name: 'authorizer',
    reasons: { TestAuthorizationOrder: 'needs webhooks that decide about permission, and an order of authorizers that can be chosen' },
  },
  { name: 'cache', leftOut: cache },
  { name: 'conformance' },
  { name: 'customresourcedefinition' },
  { name: 'garbagecollector' },
  { name: 'homeworkspaces' },
  {
    name: 'mounts',
    reasons: { TestMountsMachinery: 'needs workspaces that are mounted from elsewhere, an alpha feature of kcp' },
  },
  { name: 'openapi' },
  { name: 'proxy' },
  { name: 'quota' },
  { name: 'reconciler/apiexport' },
  { name: 'reconciler/apiexportendpointslice' },
  { name: 'reconciler/cache', leftOut: cache },
  { name: 'reconciler/cachedresourceendpointslice', leftOut: cache },
  { name: 'reconciler/partitionset' },
  { name: 'reconciler/workspace' },
  { name: 'reconciler/workspacedeletion' },
  { name: 'server' },
  { name: 'virtual/apiexport' },
  { name: 'virtual/initializingworkspaces' },
  { name: 'virtual/replication', leftOut: cache },
  { name: 'virtual/terminatingworkspaces' },
  { name: 'virtualresources/cachedresources', leftOut: cache },
  { name: 'watchcache' },
  { name: 'workspace' },
  { name: 'workspacetype' },
];
