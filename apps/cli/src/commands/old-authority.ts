import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { type GPUNode, gpuNodeKind, platformWorkspace, serverLeaseAnnotations, serverLeaseLabel } from '@capstan/api';
import { Client, connectionOf, isNotFound, loadKubeconfig } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { publicKeyHash } from '@capstan/pki';
import { userAgent } from '../workspaces/connection.ts';

type Lease = KubeObject & { readonly spec?: { readonly renewTime?: string; readonly leaseDurationSeconds?: number } };
const leases = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases', namespaced: true };

/** The nodes and API servers that have nothing from the new authority yet, for people. Asks the server on this data directory. */
export async function waitingFor(dataDirectory: string, newAuthority: string): Promise<readonly string[]> {
  const key = publicKeyHash(new X509Certificate(newAuthority).publicKey);
  const connection = connectionOf(loadKubeconfig({ path: join(dataDirectory, 'admin.kubeconfig') }), 'capstan');
  using client = new Client(connection, { userAgent });
  const [servers, nodes] = await Promise.all([
    client.resource<Lease>(leases).in('kube-system').list({ labelSelector: serverLeaseLabel }),
    nodesOf(client.cluster(platformWorkspace)),
  ]);
  return [...servers.items.flatMap((lease) => serverWithout(key, lease, Date.now())), ...nodes.flatMap((node) => nodeWithout(key, node))];
}

/** None if the kinds of the fleet are not installed. */
async function nodesOf(platform: Client): Promise<readonly GPUNode[]> {
  try {
    return (await platform.resource<GPUNode>(gpuNodeKind).list()).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function serverWithout(key: string, { metadata, spec }: Lease, now: number): string[] {
  const { annotations = {} } = metadata;
  const isLive = Date.parse(spec?.renewTime ?? '') + (spec?.leaseDurationSeconds ?? 0) * 1000 > now;
  const url = annotations[serverLeaseAnnotations.url];
  if (!isLive || url === undefined || annotations[serverLeaseAnnotations.authority] === key) return [];
  return [`API server ${url}, which is in the phase ${annotations[serverLeaseAnnotations.phase] ?? 'standby'}`];
}

/** A locked node has to be enrolled again in any case. */
export function nodeWithout(key: string, { metadata: { name }, status }: GPUNode): string[] {
  const { identity } = status ?? {};
  if (identity === undefined || identity.locked !== undefined || identity.authority === key) return [];
  return [`node ${name}, last renewed ${identity.renewedAt}`];
}
