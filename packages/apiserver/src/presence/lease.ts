import { createHash } from 'node:crypto';
import { serverLeaseAnnotations as annotation, serverLeaseLabel as identityLabel, rootCluster } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { fieldsOf, formatMicroTime, type KubeObject, textOf } from '@capstan/machinery';
import type { Addresses } from './addresses.ts';
import type { Installation } from './installation.ts';

/** Kubernetes' namespace for the Leases of API servers. */
const namespace = 'kube-system';
const leases = { group: 'coordination.k8s.io', resource: 'leases' } as const;

/**
 * How often a server renews its Lease, and how long the Lease is valid, in seconds: two renewals may fail, and clocks may differ
 * a little.
 */
export const renewSeconds = 10;
export const leaseSeconds = 40;

/** An API server of this store, as described by its Lease. */
export interface ServerRecord {
  readonly name: string;
  readonly url: string;
  readonly endpoint: { readonly address: string; readonly port: number } | undefined;
  readonly installation: Installation;
  /** The Lease's revision: shows which of two servers started later. */
  readonly revision: number;
  readonly renewedAt: Date;
}

/** The name of a server's Lease, stable across restarts on the same machine and data directory. */
export function leaseName(hostname: string, dataDirectory: string): string {
  return `apiserver-${createHash('sha256').update(`${hostname}\n${dataDirectory}`).digest('hex').slice(0, 26)}`;
}

export interface LeaseContent {
  readonly name: string;
  /** Distinguishes two runs of the same server. */
  readonly holder: string;
  readonly hostname: string;
  readonly addresses: Addresses;
  readonly installation: Installation;
  readonly now: Date;
}

export function leaseObject({ name, holder, hostname, addresses, installation, now }: LeaseContent): KubeObject {
  const { url, endpoint } = addresses;
  const { authority, signer, otherAuthority, otherSigner, phase, serviceAccountKey } = installation;
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace,
      labels: { [identityLabel]: 'kube-apiserver', 'kubernetes.io/hostname': hostname },
      annotations: {
        [annotation.url]: url,
        ...(endpoint !== undefined && { [annotation.endpoint]: JSON.stringify(endpoint) }),
        [annotation.authority]: authority,
        ...(signer !== undefined && { [annotation.signer]: signer }),
        ...(otherAuthority !== undefined && { [annotation.otherAuthority]: otherAuthority }),
        ...(otherSigner !== undefined && { [annotation.otherSigner]: otherSigner }),
        ...(phase !== undefined && { [annotation.phase]: phase }),
        [annotation.serviceAccountKey]: serviceAccountKey,
      },
    },
    spec: { holderIdentity: holder, leaseDurationSeconds: leaseSeconds, renewTime: formatMicroTime(now) },
  };
}

/** The API servers whose Lease has not expired, ordered by name. */
export function liveServers(objects: ObjectReader, now: Date): ServerRecord[] {
  return objects
    .list(leases, rootCluster, namespace)
    .filter(({ metadata }) => metadata.labels?.[identityLabel] !== undefined && metadata.annotations?.[annotation.url] !== undefined)
    .filter(({ spec }) => isLive(fieldsOf(spec), now))
    .map(recordOf)
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}

function isLive({ renewTime, leaseDurationSeconds }: Readonly<Record<string, unknown>>, now: Date): boolean {
  return Date.parse(textOf(renewTime)) + Number(leaseDurationSeconds) * 1000 > now.getTime();
}

function recordOf({ metadata, spec }: KubeObject): ServerRecord {
  const read = (key: string): string => metadata.annotations?.[key] ?? '';
  return {
    name: metadata.name ?? '',
    url: read(annotation.url),
    endpoint: endpointOf(read(annotation.endpoint)),
    installation: {
      authority: read(annotation.authority),
      signer: metadata.annotations?.[annotation.signer],
      otherAuthority: metadata.annotations?.[annotation.otherAuthority],
      otherSigner: metadata.annotations?.[annotation.otherSigner],
      serviceAccountKey: read(annotation.serviceAccountKey),
    },
    revision: Number(metadata.resourceVersion),
    renewedAt: new Date(textOf(fieldsOf(spec)['renewTime'])),
  };
}

function endpointOf(text: string): ServerRecord['endpoint'] {
  try {
    const { address, port } = fieldsOf(JSON.parse(text));
    return typeof address === 'string' && typeof port === 'number' ? { address, port } : undefined;
  } catch {
    return undefined;
  }
}
