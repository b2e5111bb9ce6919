import type { App, AppInstance, AppMember, GPUNode, NodeGpu } from '@capstan/api';
import { addressOf, nodeStateOf } from '@capstan/compute';
import type { Wish } from '../checking/wish.ts';
import type { AdapterGpu, AdapterInstance, AdapterMember, AdapterNode } from './contract.ts';

/** Our objects as adapters see them. */

export function adapterInstance(
  { metadata }: AppInstance,
  app: App,
  { wish, workspace }: { readonly wish: Wish; readonly workspace: string },
): AdapterInstance {
  const { uid = '', name = '', namespace = '' } = metadata;
  return { id: uid, name, namespace, workspace, app: app.metadata.name ?? '', ...wish };
}

export function adapterNode(name: string, node: GPUNode | undefined): AdapterNode {
  const { machine, gpus = [] } = node?.status ?? {};
  return {
    name,
    address: addressOf(node, name),
    hostname: machine?.hostname ?? name,
    cpus: machine?.cpus ?? 0,
    memoryMiB: Math.floor((machine?.memoryBytes ?? 0) / 2 ** 20),
    gpus: gpus.map(adapterGpu),
    isReady: nodeStateOf(node).kind === 'heard',
  };
}

/** A degraded GPU works, and is not healthy: the adapter may give it no new work. */
function adapterGpu({ uuid, model = '', health, deviceFiles = [] }: NodeGpu, index: number): AdapterGpu {
  const [device] = deviceFiles;
  return { uuid, model, index, ...(device !== undefined && { device }), isHealthy: health.state === 'Healthy' };
}

export function adapterMember(
  { metadata, spec, status }: Pick<AppMember, 'metadata' | 'spec' | 'status'>,
  node: GPUNode | undefined,
  isWanted: boolean,
): AdapterMember {
  return {
    name: metadata.name ?? '',
    component: spec.component,
    allocation: spec.allocation,
    node: adapterNode(spec.node, node),
    state: status?.state ?? 'pending',
    isWanted,
    hasJoined: status?.joined ?? false,
  };
}
