import { isIPv6 } from 'node:net';
import { addressRange } from '@capstan/kinds';
import type { KubeObject } from '@capstan/machinery';
import { serviceAddresses } from '@capstan/pki';

export const systemNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'] as const;

/** The namespaces that always exist. */
export function namespaceObjects(): KubeObject[] {
  return systemNamespaces.map((name) => ({
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }));
}

export function priorityClassObjects(): KubeObject[] {
  const classes = { 'system-cluster-critical': 2_000_000_000, 'system-node-critical': 2_000_001_000 };
  return Object.entries(classes).map(([name, value]) => ({
    kind: 'PriorityClass',
    apiVersion: 'scheduling.k8s.io/v1',
    metadata: { name, generation: 1 },
    value,
    preemptionPolicy: 'PreemptLowerPriority',
  }));
}

/** The range of service addresses. */
export function serviceRangeObject(): KubeObject {
  return {
    kind: 'ServiceCIDR',
    apiVersion: 'networking.k8s.io/v1',
    metadata: { name: 'kubernetes' },
    spec: { cidrs: [addressRange] },
  };
}

/** The objects that every new namespace gets. Clients and pods wait for both. */
export function objectsOfNamespace(namespace: string, authorityPem: string): KubeObject[] {
  const annotations = {
    'kubernetes.io/description': 'Holds the certificate authority with which clients inside the cluster verify the API server.',
  };
  return [
    { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'default', namespace } },
    {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'kube-root-ca.crt', namespace, annotations },
      data: { 'ca.crt': authorityPem },
    },
  ];
}

export interface ServerAddress {
  /** The endpoints of every API server on the store. */
  readonly endpoints: readonly Endpoint[];
  /** The authority for client certificates, in PEM. */
  readonly clientAuthority: string;
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * The objects by which clients in the cluster find the servers: the `kubernetes` service with its endpoints, and the client CA that
 * extension servers trust.
 */
export function serverObjects({ endpoints, clientAuthority }: ServerAddress): KubeObject[] {
  const trusted = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'extension-apiserver-authentication', namespace: 'kube-system' },
    data: { 'client-ca-file': clientAuthority },
  };
  return [...kubernetesService(endpoints), trusted];
}

/** A service has endpoints of one address family and port only: those of the first, preferring IPv4. */
function kubernetesService(endpoints: readonly Endpoint[]): KubeObject[] {
  const ordered = endpoints.toSorted((left, right) => (left.address < right.address ? -1 : 1));
  const first = ordered.find(({ address }) => !isIPv6(address)) ?? ordered[0];
  if (first === undefined) return [];
  const { port } = first;
  const family = isIPv6(first.address) ? 'IPv6' : 'IPv4';
  const alike = ordered.filter((one) => one.port === port && isIPv6(one.address) === isIPv6(first.address));
  const addresses = [...new Set(alike.map(({ address }) => address))];
  const clusterIP = serviceAddresses[family];
  const endpointPort = { name: 'https', port, protocol: 'TCP' };
  const place = { name: 'kubernetes', namespace: 'default' };
  return [
    {
      kind: 'Service',
      apiVersion: 'v1',
      metadata: { ...place, labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: {
        ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: port }],
        clusterIP,
        clusterIPs: [clusterIP],
        type: 'ClusterIP',
        sessionAffinity: 'None',
        ipFamilies: [family],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
      },
      status: { loadBalancer: {} },
    },
    {
      kind: 'Endpoints',
      apiVersion: 'v1',
      metadata: { ...place, labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
      subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: [endpointPort] }],
    },
    {
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { ...place, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: family,
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: [endpointPort],
    },
  ];
}
