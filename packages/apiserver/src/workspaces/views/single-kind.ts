import { createHash } from 'node:crypto';
import { Catalog, type CustomKinds, type Group } from '../../registry/catalog.ts';
import type { Resource } from '../../registry/resource.ts';

/** A catalog with a single read-only kind. `statusVerbs` are the verbs of its status. */
export function singleKind(resource: Resource, statusVerbs: readonly string[]): Catalog {
  const verbs = ['get', 'list', 'watch'];
  const status = resource.subresources.get('status');
  const shown: Resource = {
    ...resource,
    verbs: new Set(verbs),
    storageVersionHash: hashOf(resource),
    custom: { ...resource.custom!, discoveredVerbs: verbs },
    subresources: new Map(status === undefined ? [] : [['status', { ...status, verbs: new Set(statusVerbs) }]]),
  };
  const { group: name, version } = resource;
  const group: Group = {
    name,
    preferredVersion: version,
    versions: [{ group: name, version, resources: new Map([[resource.resource, shown]]) }],
  };
  const kinds: CustomKinds = {
    generation: 1,
    hasGroup: (other) => other === name,
    resource: (...path) => (path[0] === name && path[1] === version && path[2] === resource.resource ? shown : undefined),
    groups: () => [group],
  };
  return new Catalog(new Map(), kinds);
}

/** kcp's hash is prefixed with the workspace, which is empty in a view. */
function hashOf({ group, version, kind }: Resource): string {
  return createHash('sha256').update(`/${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}
