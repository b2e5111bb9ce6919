/** A program that runs a Kubernetes cluster. Everything else in this adapter is the same for all of them. */
export interface Distribution {
  readonly program: 'rke2' | 'k3s' | 'kubeadm';
  readonly displayName: string;
  /** The port of the supervisor, which members join by. */
  readonly supervisorPort: number;
  readonly services: Readonly<Record<Role, string>>;
  /** Ports that must be free before the installation. */
  readonly ports: Readonly<Record<Role, readonly number[]>>;
  readonly mostServers: number;
  /** Whether the first server must ask for an etcd of its own; snapshots need it. */
  readonly needsClusterInit: boolean;
  /** Whether a step of its own forms the cluster; the service does it otherwise. */
  readonly needsForming: boolean;
  /** Whether it can save and restore snapshots of etcd. */
  readonly hasSnapshots: boolean;
  /** Names of `parameters`. */
  readonly parameters: readonly string[];
  /** Parts that the platform switches off, because it promises nothing about them. */
  readonly disabled: readonly string[];
  readonly artifacts: readonly ArtifactPlace[];
  /** The version in the catalog until its owner adds others. */
  readonly version: string;
  readonly configDirectory: string;
  readonly configFile: string;
  readonly dataDirectory: string;
}

export type Role = 'server' | 'agent';

export interface ArtifactPlace {
  /** The file name in the release, which is the name of the artifact in the catalog. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly mode: string;
  /** Its path, or absent for the folder of artifacts, from which the installer takes it. */
  readonly path?: string;
}

/** The port of the Kubernetes API. */
export const apiPort = 6443;

export const devicePluginManifest = 'device-plugin.yaml';

/** Where the installer finds its files. */
const artifactsOf = (program: Distribution['program']): string => `/var/lib/capstan-apps/${program}`;

/** The device plugin of whoever makes the GPUs: a manifest, and an archive with the images that it names. */
const devicePlugin = (imagesPath?: string): ArtifactPlace[] => [
  { name: devicePluginManifest, isRequired: false, mode: '0644' },
  { name: 'device-plugin-images.tar', isRequired: false, mode: '0644', ...(imagesPath !== undefined && { path: imagesPath }) },
];

const rancher = {
  mostServers: 7,
  needsForming: false,
  hasSnapshots: true,
  parameters: [
    'cluster-cidr',
    'service-cidr',
    'cluster-dns',
    'tls-san',
    'disable',
    'etcd-snapshot-schedule-cron',
    'etcd-snapshot-retention',
  ],
} as const;

const placesOf = (program: 'rke2' | 'k3s') => ({
  configDirectory: `/etc/rancher/${program}`,
  configFile: `/etc/rancher/${program}/config.yaml`,
  dataDirectory: `/var/lib/rancher/${program}`,
});

const rke2: Distribution = {
  ...rancher,
  ...placesOf('rke2'),
  program: 'rke2',
  displayName: 'Self-managed Kubernetes (RKE2)',
  supervisorPort: 9345,
  services: { server: 'rke2-server', agent: 'rke2-agent' },
  ports: { server: [9345, apiPort, 2379, 2380, 10250], agent: [10250] },
  needsClusterInit: false,
  disabled: [],
  artifacts: [
    { name: 'rke2.linux-amd64.tar.gz', isRequired: true, mode: '0644' },
    { name: 'sha256sum-amd64.txt', isRequired: true, mode: '0644' },
    { name: 'install.sh', isRequired: true, mode: '0755' },
    { name: 'rke2-images.linux-amd64.tar.zst', isRequired: false, mode: '0644' },
    ...devicePlugin('/var/lib/rancher/rke2/agent/images/device-plugin-images.tar'),
  ],
  version: 'v1.34.1+rke2r1',
};

const k3s: Distribution = {
  ...rancher,
  ...placesOf('k3s'),
  program: 'k3s',
  displayName: 'Self-managed Kubernetes (k3s)',
  supervisorPort: apiPort,
  services: { server: 'k3s', agent: 'k3s-agent' },
  ports: { server: [apiPort, 2379, 2380, 10250], agent: [10250] },
  needsClusterInit: true,
  // It would create a StorageClass on the disks of the nodes.
  disabled: ['local-storage'],
  artifacts: [
    { name: 'k3s', isRequired: true, mode: '0755', path: '/usr/local/bin/k3s' },
    { name: 'install.sh', isRequired: true, mode: '0755' },
    {
      name: 'k3s-airgap-images-amd64.tar.zst',
      isRequired: false,
      mode: '0644',
      path: '/var/lib/rancher/k3s/agent/images/k3s-airgap-images-amd64.tar.zst',
    },
    ...devicePlugin('/var/lib/rancher/k3s/agent/images/device-plugin-images.tar'),
  ],
  version: 'v1.34.1+k3s1',
};

const program = (name: string): ArtifactPlace => ({
  name,
  isRequired: true,
  mode: '0755',
  path: `${artifactsOf('kubeadm')}/bin/${name}`,
});

const kubeadm: Distribution = {
  program: 'kubeadm',
  displayName: 'Self-managed Kubernetes (kubeadm)',
  supervisorPort: apiPort,
  services: { server: 'kubelet', agent: 'kubelet' },
  ports: { server: [apiPort, 2379, 2380, 10250, 10257, 10259], agent: [10250] },
  mostServers: 7,
  needsClusterInit: false,
  needsForming: true,
  hasSnapshots: false,
  parameters: ['cluster-cidr', 'service-cidr', 'tls-san', 'ignore-preflight-errors'],
  disabled: [],
  artifacts: [
    ...['kubeadm', 'kubelet', 'kubectl'].map(program),
    { name: 'images.tar', isRequired: true, mode: '0644' },
    { name: 'network.yaml', isRequired: false, mode: '0644' },
    ...devicePlugin(),
  ],
  version: 'v1.34.1',
  configDirectory: '/etc/kubernetes',
  configFile: `${artifactsOf('kubeadm')}/config.yaml`,
  dataDirectory: '/var/lib/kubelet',
};

export const distributions: readonly Distribution[] = [rke2, k3s, kubeadm];

/** The distribution of an App, which has the name of the program. */
export function distributionOf(app: string): Distribution {
  const found = distributions.find(({ program: name }) => name === app);
  if (found === undefined) throw new Error(`there is no distribution ${app}`);
  return found;
}

export const artifactDirectory = (distribution: Distribution): string => artifactsOf(distribution.program);
/** Starts the program with its log in `/var/log`. The script `install` writes it, for machines without systemd. */
export const launcher = (distribution: Distribution): string => `${artifactDirectory(distribution)}/service`;
