import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface NodePlace {
  readonly name: string;
  readonly address: string;
  /** `10.88.1`: the first three bytes of the addresses of its pods. */
  readonly podPrefix: string;
  readonly cgroup: string;
}

export function containerdConfig(tree: string): string {
  const runc = ['usr/sbin/runc', 'usr/bin/runc'].map((file) => join(tree, file)).find((file) => existsSync(file));
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const unused = ['aufs', 'btrfs', 'devmapper', 'zfs'].map((name) => `"io.containerd.snapshotter.v1.${name}"`);
  return `version = 2
oom_score = 0
disabled_plugins = [${[...unused, '"io.containerd.internal.v1.opt"'].join(', ')}]

[${cri}]
  sandbox_image = "capstan.test/pause:1"
  # Lowering the score needs a capability that containers of tests often lack.
  restrict_oom_score_adj = true
  disable_apparmor = true

[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
  BinaryName = "${runc ?? 'runc'}"

[${cri}.cni]
  bin_dir = "${join(tree, 'usr/lib/cni')}"
  conf_dir = "/etc/cni/net.d"
`;
}

/** A bridge for the pods of a node. Addresses of other nodes' pods are routed. */
export function networkConfig({ podPrefix }: NodePlace): string {
  const ipam = { type: 'host-local', ranges: [[{ subnet: `${podPrefix}.0/24` }]], routes: [{ dst: '0.0.0.0/0' }] };
  const bridge = { type: 'bridge', bridge: 'pods', isGateway: true, hairpinMode: true, ipam };
  const plugins = [bridge, { type: 'portmap', capabilities: { portMappings: true }, snat: true }];
  return JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins });
}

export interface KubeletSettings {
  /** The address of the cluster's DNS server; undefined if there is none. */
  readonly dns?: string | undefined;
}

export function kubeletConfig({ address, cgroup }: NodePlace, { dns }: KubeletSettings): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: '/etc/kubernetes/ca.crt' } },
    authorization: { mode: 'Webhook' },
    rotateCertificates: true,
    serverTLSBootstrap: true,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    enforceNodeAllocatable: ['pods'],
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    clusterDomain: 'cluster.local',
    ...(dns !== undefined && { clusterDNS: [dns] }),
    resolvConf: '/etc/kubernetes/resolv.conf',
    // The disk belongs to the machine that runs the tests, and may be fuller than a node's.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    // Tests wait for what these do.
    nodeStatusUpdateFrequency: '4s',
    syncFrequency: '10s',
    shutdownGracePeriod: '0s',
  });
}
