import { nodeNamespace } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { formatMicroTime, type KubeObject } from '@capstan/machinery';

const leaseKind = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };

export interface Heartbeat {
  readonly node: string;
  /** Tells two runs of the agent apart. */
  readonly holder: string;
  /** How long the Lease is valid, in seconds. */
  readonly seconds: number;
  readonly now: Date;
}

/** Renews the Lease of a node, or creates it. The client is one of root:platform. */
export async function renewLease(client: Client, { node, holder, seconds, now }: Heartbeat, signal: AbortSignal): Promise<void> {
  const namespace = nodeNamespace(node);
  const leases = client.resource<KubeObject>(leaseKind).in(namespace);
  const spec = { holderIdentity: holder, leaseDurationSeconds: seconds, renewTime: formatMicroTime(now) };
  try {
    await leases.patch(node, { type: 'merge', patch: { spec } }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await leases.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: node, namespace }, spec }, { signal });
  }
}
