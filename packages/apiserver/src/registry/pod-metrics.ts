import { apiVersionOf, type Group } from './catalog.ts';
import type { Resource } from './resource.ts';

export const metricsGroup = 'metrics.k8s.io';
const version = 'v1beta1';
const groupVersion = apiVersionOf(metricsGroup, version);

/** `metrics.k8s.io`, for workspaces whose pods show units. Its objects are computed when they are read, for the pods that exist. */
export function podMetricsGroup(pods: Resource): Group {
  const resource: Resource = {
    ...pods,
    group: metricsGroup,
    version,
    groupVersion,
    kind: 'PodMetrics',
    listKind: 'PodMetricsList',
    singular: '',
    verbs: new Set(['get', 'list']),
    shortNames: [],
    categories: [],
    storageVersionHash: '',
    subresources: new Map(),
    virtual: true,
  };
  return {
    name: metricsGroup,
    preferredVersion: version,
    versions: [{ group: metricsGroup, version, resources: new Map([[resource.resource, resource]]) }],
  };
}
