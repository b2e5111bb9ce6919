import type { AdapterInstance } from '../../adapter/contract.ts';
import { type ConfigRequest, joinedServer } from './config-request.ts';
import { apiPort } from './distribution.ts';

const version = 'kubeadm.k8s.io/v1beta4';
/** Where people put settings of their own, as patches of kubeadm. */
const patches = { directory: '/etc/kubernetes/patches' };
/** How long parts may take to start. The defaults of two to five minutes are too short for nodes that are busy; the deadline of the step is longer. */
const timeouts = { etcdAPICall: '6m0s', controlPlaneComponentHealthCheck: '8m0s', kubeletHealthCheck: '8m0s', tlsBootstrap: '8m0s' };
const socket = 'unix:///run/containerd/containerd.sock';

/** The secret that encrypts the keys of the cluster while servers share them. */
export const certificateKey = 'certificate-key';

/** The name that leads to all servers. The script `endpoint` makes it known on the members. */
export const endpointName = ({ id }: AdapterInstance): string => `cluster-${id}.capstan.internal`;

/** The configuration file of kubeadm for a member. Placeholders stand for secrets and facts. */
export function kubeadmConfig(request: ConfigRequest): string {
  const server = joinedServer(request);
  // A server that joins others needs the settings of the whole cluster later, to write its manifests again. kubeadm ignores documents that it does not need.
  const documents = [
    ...(request.member.component === 'server' ? serverDocuments(request) : []),
    ...(server === undefined ? [] : [joinDocument(request, server.node.address)]),
  ];
  // JSON is YAML too.
  return documents.map((document) => JSON.stringify(document, undefined, 2)).join('\n---\n');
}

function registration({ instance, member }: ConfigRequest): object {
  const { name, address } = member.node;
  const ignored = instance.parameters['ignore-preflight-errors'];
  return {
    name,
    criSocket: socket,
    // Servers take pods, as those of the other programs do.
    taints: [],
    kubeletExtraArgs: [
      { name: 'node-ip', value: address },
      { name: 'node-labels', value: `capstan.dev/member=${member.name}` },
    ],
    ...(ignored !== undefined && { ignorePreflightErrors: ignored }),
  };
}

function serverDocuments(request: ConfigRequest): object[] {
  const { instance, member, servers } = request;
  const { parameters } = instance;
  const names = (parameters['tls-san'] as readonly string[] | undefined) ?? [];
  return [
    {
      apiVersion: version,
      kind: 'InitConfiguration',
      localAPIEndpoint: { advertiseAddress: member.node.address, bindPort: apiPort },
      nodeRegistration: registration(request),
      certificateKey: `\${secret:${certificateKey}}`,
      timeouts,
      // Agents get tokens of their own. kubeadm always makes one, so this one expires soon.
      bootstrapTokens: [
        { ttl: '1m0s', groups: ['system:bootstrappers:kubeadm:default-node-token'], usages: ['signing', 'authentication'] },
      ],
      patches,
    },
    {
      apiVersion: version,
      kind: 'ClusterConfiguration',
      clusterName: instance.name,
      kubernetesVersion: instance.version,
      controlPlaneEndpoint: `${endpointName(instance)}:${apiPort}`,
      networking: {
        podSubnet: parameters['cluster-cidr'] ?? '10.42.0.0/16',
        serviceSubnet: parameters['service-cidr'] ?? '10.43.0.0/16',
      },
      apiServer: { certSANs: [...new Set([...servers.map(({ node }) => node.address), '127.0.0.1', 'localhost', ...names])] },
    },
    {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      mode: 'nftables',
      // Settings of the kernel would outlive the cluster.
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    },
  ];
}

function joinDocument(request: ConfigRequest, server: string): object {
  const { member } = request;
  const localAPIEndpoint = { advertiseAddress: member.node.address, bindPort: apiPort };
  return {
    apiVersion: version,
    kind: 'JoinConfiguration',
    discovery: {
      bootstrapToken: {
        apiServerEndpoint: `${server}:${apiPort}`,
        token: '${secret:agent-join-token}',
        caCertHashes: ['${fact:authority}'],
      },
    },
    nodeRegistration: registration(request),
    timeouts,
    ...(member.component === 'server' && { controlPlane: { localAPIEndpoint, certificateKey: `\${secret:${certificateKey}}` } }),
    patches,
  };
}
