import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { containerdTree } from './containerd.ts';
import type { DebianRepository } from './debian-repository.ts';
import { type DebianTree, debianProgram } from './debian-tree.ts';
import { dockerTree } from './docker.ts';
import { faketimeTree } from './faketime.ts';
import { iptablesTree } from './packet-filters.ts';
import { podmanTree } from './podman.ts';
import { slurmRepository } from './slurm.ts';

export type ToolName =
  | 'kubectl'
  | 'helm'
  | 'etcd'
  | 'etcdutl'
  | 'openssl'
  | 'podman'
  | 'dockerd'
  | 'rsync'
  | 'sftp-server'
  | 'haproxy'
  | 'qemu-aarch64'
  | 'faketime'
  | 'nft'
  | 'iptables'
  | 'containerd'
  | 'chromium'
  | 'slurm'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kube-proxy'
  | 'kubelet'
  | 'kubeadm'
  | 'agnhost'
  | 'sample-device-plugin'
  | 'nnp'
  | 'sample-apiserver'
  | 'netutils'
  | 'coredns'
  | 'nomad'
  | 'k9s'
  | 'e2e.test'
  | 'kubectl-ws'
  | 'kubectl-kcp'
  | 'kubectl-create-workspace'
  | 'clientgo-probe'
  | 'operator'
  | 'multicluster';

export interface ToolDescription {
  readonly name: ToolName;
  /** The version to build if none is found. */
  readonly version: string;
  /** A copy on PATH is used if it reports at least this version. Undefined if PATH is not searched. */
  readonly onPath?: { readonly atLeast: string; readonly below?: string; readonly versionArgs: readonly string[] };
  /** The Debian package that contains it, and the path in it. */
  readonly debian?: { readonly package: string; readonly file: string };
  /** The Debian packages that it consists of, if it is more than one file. */
  readonly debianTree?: DebianTree;
  /** The Debian packages that hosts of tests install by apt. The program makes them available on a host. */
  readonly debianRepository?: DebianRepository;
  /** How to build it. Undefined if it is never built. */
  readonly go?: GoBuild;
  /** Built for tests that need exactly the version of the API. */
  readonly exact?: { readonly version: string; readonly go: GoBuild };
}

export interface GoBuild {
  /** Folder below `tools/` with the go.mod that pins everything. */
  readonly module: string;
  readonly package: string;
  readonly linkerFlags: string;
  /** `go test -c` instead of `go build`. */
  readonly test?: true;
  /** How long a build may take with an empty cache, by default half an hour. Tests that need it are skipped after that. */
  readonly minutes?: number;
}

export const modulesDirectory = resolve(import.meta.dirname, '../../tools');

const kubernetesVersion = 'v1.34.1';
const kubernetesFlags = flagsOf(kubernetesVersion);
/** The version of the libraries that the programs in `tools/` share, so that they are compiled once. */
const kubectlVersion = 'v1.35.1';

function flagsOf(version: string): string {
  const [major, minor] = version.slice(1).split('.');
  const variables = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((path) => [
    `-X ${path}.gitVersion=${version}`,
    `-X ${path}.gitMajor=${major}`,
    `-X ${path}.gitMinor=${minor}`,
  ]);
  return ['-s -w', ...variables].join(' ');
}

function kubernetes(name: ToolName): ToolDescription & { readonly go: GoBuild } {
  return {
    name,
    version: kubernetesVersion,
    go: { module: 'kubernetes', package: `k8s.io/kubernetes/cmd/${name}`, linkerFlags: kubernetesFlags },
  };
}

/** kcp's plugins for kubectl. They use v1alpha1 of its API. */
function kcpPlugin(name: ToolName): ToolDescription {
  return { name, version: 'v0.27.1', go: { module: 'kcp', package: `github.com/kcp-dev/kcp/cli/cmd/${name}`, linkerFlags: '-s -w' } };
}

const described: readonly ToolDescription[] = [
  {
    name: 'kubectl',
    version: kubectlVersion,
    onPath: { atLeast: '1.32.0', versionArgs: ['version', '--client'] },
    debian: { package: 'kubectl', file: 'usr/bin/kubectl' },
    go: { module: 'kubectl', package: '.', linkerFlags: flagsOf(kubectlVersion) },
    exact: kubernetes('kubectl'),
  },
  kubernetes('kube-apiserver'),
  kubernetes('kube-controller-manager'),
  kubernetes('kube-scheduler'),
  kubernetes('kube-proxy'),
  kubernetes('kubelet'),
  kubernetes('kubeadm'),
  {
    ...kubernetes('agnhost'),
    go: { module: 'kubernetes', package: 'k8s.io/kubernetes/test/images/agnhost', linkerFlags: '-s -w' },
  },
  {
    ...kubernetes('sample-device-plugin'),
    go: { module: 'kubernetes', package: 'k8s.io/kubernetes/test/images/sample-device-plugin', linkerFlags: '-s -w' },
  },
  {
    ...kubernetes('nnp'),
    go: { module: 'kubernetes', package: 'k8s.io/kubernetes/test/images/nonewprivs', linkerFlags: '-s -w' },
  },
  { ...kubernetes('sample-apiserver'), go: { module: 'kubernetes', package: 'k8s.io/sample-apiserver', linkerFlags: '-s -w' } },
  {
    ...kubernetes('e2e.test'),
    go: { module: 'kubernetes', package: 'k8s.io/kubernetes/test/e2e', linkerFlags: kubernetesFlags, test: true },
  },
  {
    name: 'helm',
    version: 'v3.20.2',
    onPath: { atLeast: '3.0.0', below: '4.0.0', versionArgs: ['version', '--short'] },
    go: { module: 'helm', package: 'helm.sh/helm/v3/cmd/helm', linkerFlags: '-s -w -X helm.sh/helm/v3/internal/version.version=v3.20.2' },
  },
  {
    name: 'etcd',
    version: 'v3.5.35',
    onPath: { atLeast: '3.5.0', versionArgs: ['--version'] },
    debian: { package: 'etcd-server', file: 'usr/bin/etcd' },
    go: { module: 'etcd', package: '.', linkerFlags: '-s -w' },
  },
  { name: 'etcdutl', version: 'v3.5.35', go: { module: 'etcdutl', package: 'go.etcd.io/etcd/etcdutl/v3', linkerFlags: '-s -w' } },
  { name: 'netutils', version: contentVersion('netutils'), go: { module: 'netutils', package: '.', linkerFlags: '-s -w' } },
  { name: 'coredns', version: contentVersion('coredns'), go: { module: 'coredns', package: '.', linkerFlags: '-s -w' } },
  { name: 'nomad', version: 'v1.11.3', go: { module: 'nomad', package: 'github.com/hashicorp/nomad', linkerFlags: '-s -w' } },
  { name: 'k9s', version: 'v0.50.9', go: { module: 'k9s', package: 'github.com/derailed/k9s', linkerFlags: '-s -w' } },
  { name: 'openssl', version: '3', onPath: { atLeast: '3.0.0', versionArgs: ['version'] } },
  { name: 'podman', version: 'debian-2', onPath: { atLeast: '4.3.0', versionArgs: ['--version'] }, debianTree: podmanTree },
  { name: 'dockerd', version: 'debian', debianTree: dockerTree },
  {
    name: 'rsync',
    version: 'debian-2',
    onPath: { atLeast: '3.0.0', versionArgs: ['--version'] },
    debianTree: debianProgram('rsync', 'usr/bin/rsync'),
  },
  {
    name: 'sftp-server',
    version: 'debian',
    debian: { package: 'openssh-sftp-server', file: 'usr/lib/openssh/sftp-server' },
  },
  {
    name: 'haproxy',
    version: 'debian',
    onPath: { atLeast: '2.4.0', versionArgs: ['-v'] },
    debianTree: debianProgram('haproxy', 'usr/sbin/haproxy'),
  },
  { name: 'qemu-aarch64', version: 'debian', debian: { package: 'qemu-user-static', file: 'usr/bin/qemu-aarch64-static' } },
  { name: 'faketime', version: 'debian', debianTree: faketimeTree },
  {
    name: 'nft',
    version: 'debian',
    onPath: { atLeast: '0.9.0', versionArgs: ['--version'] },
    debianTree: debianProgram('nftables', 'usr/sbin/nft'),
  },
  { name: 'iptables', version: 'debian', onPath: { atLeast: '1.8.0', versionArgs: ['--version'] }, debianTree: iptablesTree },
  // The whole tree is needed, so one on PATH is not enough.
  { name: 'containerd', version: 'debian-2', debianTree: containerdTree },
  // Debian's own script would look for it in /usr.
  {
    name: 'chromium',
    version: 'debian-2',
    onPath: { atLeast: '120.0.0', versionArgs: ['--version'] },
    debianTree: debianProgram('chromium', 'usr/lib/chromium/chromium'),
  },
  { name: 'slurm', version: 'debian', debianRepository: slurmRepository },
  kcpPlugin('kubectl-ws'),
  kcpPlugin('kubectl-kcp'),
  kcpPlugin('kubectl-create-workspace'),
  { name: 'clientgo-probe', version: contentVersion('clientgo'), go: { module: 'clientgo', package: '.', linkerFlags: '-s -w' } },
  { name: 'operator', version: contentVersion('operator'), go: { module: 'operator', package: '.', linkerFlags: '-s -w' } },
  {
    name: 'multicluster',
    version: contentVersion('multicluster'),
    go: { module: 'multicluster', package: '.', linkerFlags: '-s -w', minutes: 15 },
  },
];

const byName = new Map(described.map((description) => [description.name, description]));

export function describeTool(name: ToolName): ToolDescription {
  const description = byName.get(name);
  if (description === undefined) throw new Error(`there is no tool ${name}; expected one of ${[...byName.keys()].join(', ')}`);
  return description;
}

/** Our own programs have no releases: their version is a hash of their sources, so that a change triggers a build. */
function contentVersion(module: string): string {
  const directory = join(modulesDirectory, module);
  const hash = createHash('sha256');
  for (const file of readdirSync(directory).sort()) hash.update(file).update(readFileSync(join(directory, file)));
  return hash.digest('hex').slice(0, 12);
}
