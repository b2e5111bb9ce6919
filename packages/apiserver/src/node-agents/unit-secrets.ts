import { type ClusterId, fleetGroup, nodeOfNamespace, nodeUnitKind } from '@capstan/api';
import type { NodeSubresource } from '../connect/node-subresource.ts';

/** `nodeunits/secrets`: the values of secrets for a unit, which its node keeps in memory. They pass through this server, and are stored nowhere else. */
export function unitSecrets(platform: () => ClusterId | undefined): NodeSubresource {
  return {
    group: fleetGroup,
    resource: nodeUnitKind.resource,
    subresource: 'secrets',
    methods: ['PUT'],
    target: ({ metadata }, cluster) => {
      const node = nodeOfNamespace(metadata.namespace ?? '');
      // Elsewhere tenants may define a kind with this name.
      if (cluster !== platform() || node === undefined) return undefined;
      return { node, path: `/units/${encodeURIComponent(metadata.name ?? '')}/secrets` };
    },
  };
}
