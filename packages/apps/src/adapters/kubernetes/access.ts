import type { AccessAnswer, InstanceRequest } from '../../adapter/contract.ts';
import { apiAddress } from './settings.ts';

/** The notes are for people who have never seen the cluster. */
const notes: readonly string[] = [
  'This cluster is self-managed: you operate it. The platform deploys it, delivers the kubeconfig and reports its health.',
  'The addresses are those of the network of the nodes. The kubeconfig of the platform needs no route to them.',
  'Members of the project who may change this instance are administrators of the cluster; others may view it.',
  'There is no StorageClass: the platform promises no persistent volumes.',
];

export function accessOf({ members }: InstanceRequest): AccessAnswer {
  const servers = members.filter(({ component, hasJoined, isWanted }) => component === 'server' && hasJoined && isWanted);
  const server = servers.find(({ node }) => node.isReady) ?? servers[0];
  if (server === undefined) return { notes };
  return {
    endpoints: servers.map((member, index) => ({ name: index === 0 ? 'api' : `api-${index + 1}`, address: apiAddress(member) })),
    notes,
    kubernetes: { member: server.name },
  };
}
