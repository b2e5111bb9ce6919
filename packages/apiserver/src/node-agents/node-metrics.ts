import { type ClusterId, fleetGroup, gpuNodeKind } from '@capstan/api';
import type { NodeSubresource } from '../connect/node-subresource.ts';

/** `gpunodes/metrics`: the samples of the GPUs of a node, which the node keeps for a day. */
export function nodeMetrics(platform: () => ClusterId | undefined): NodeSubresource {
  return {
    group: fleetGroup,
    resource: gpuNodeKind.resource,
    subresource: 'metrics',
    methods: ['GET'],
    // Elsewhere tenants may define a kind with this name.
    target: ({ metadata }, cluster) => (cluster === platform() ? { node: metadata.name ?? '', path: '/metrics' } : undefined),
  };
}
