import { type ClusterId, fleetGroup, type NodeTask, nodeOfNamespace, nodeTaskKind } from '@capstan/api';
import type { NodeSubresource } from '../connect/node-subresource.ts';

/** `nodetasks/log`: the output of a task, which its node keeps. */
export function taskLog(platform: () => ClusterId | undefined): NodeSubresource {
  return {
    group: fleetGroup,
    resource: nodeTaskKind.resource,
    subresource: 'log',
    methods: ['GET'],
    target: (object, cluster) => {
      const { metadata, spec, status } = object as NodeTask;
      const node = nodeOfNamespace(metadata.namespace ?? '');
      // Elsewhere tenants may define a kind with this name.
      if (cluster !== platform() || node === undefined) return undefined;
      return { node, path: `/tasks/${metadata.uid}/${status?.attempt ?? spec.attempt}/log` };
    },
  };
}
