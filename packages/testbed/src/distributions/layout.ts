import { hostname } from 'node:os';
import { join } from 'node:path';
import { listOf, type ProgramName, type Settings } from './options.ts';

/** The real programs that a distribution consists of, by name. */
export type Parts = Readonly<
  Record<
    | 'etcd'
    | 'etcdutl'
    | 'kube-apiserver'
    | 'kube-controller-manager'
    | 'kube-scheduler'
    | 'kube-proxy'
    | 'kubelet'
    | 'kubectl'
    | 'containerd',
    string
  >
>;

/** A member of a cluster: its settings, and where its files are. */
export interface Layout {
  readonly program: ProgramName;
  readonly parts: Parts;
  readonly settings: Settings;
  readonly data: string;
  readonly tls: string;
  readonly node: string;
  readonly address: string;
  /** Where members join. */
  readonly supervisorPort: number;
  /** Where kube-apiserver itself listens. */
  readonly apiPort: number;
  readonly podNetwork: string;
  readonly serviceNetwork: string;
  /** The first address of the network of services. */
  readonly serviceAddress: string;
  readonly names: readonly string[];
  readonly kubeconfig: string;
}

/** Where clients reach the API. */
export const publicPort = 6443;

export function layoutOf(program: ProgramName, settings: Settings, parts: Parts): Layout {
  const data = String(settings['data-dir'] ?? `/var/lib/rancher/${program}`);
  const serviceNetwork = String(settings['service-cidr'] ?? '10.43.0.0/16');
  return {
    program,
    parts,
    settings,
    data,
    tls: join(data, 'server/tls'),
    node: String(settings['node-name'] ?? hostname()),
    address: String(settings['node-ip'] ?? '127.0.0.1'),
    supervisorPort: program === 'rke2' ? 9345 : publicPort,
    // The supervisor of k3s has the public port, and passes on requests for the API.
    apiPort: program === 'rke2' ? publicPort : 6444,
    podNetwork: String(settings['cluster-cidr'] ?? '10.42.0.0/16'),
    serviceNetwork,
    serviceAddress: serviceNetwork.replace(/\.0\/\d+$/, '.1'),
    names: listOf(settings['tls-san']),
    kubeconfig: `/etc/rancher/${program}/${program}.yaml`,
  };
}
