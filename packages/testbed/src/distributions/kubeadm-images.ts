import { join } from 'node:path';
import { output } from '../command.ts';
import { busyboxImage, type ImageDescription, pauseImage } from '../kubelets/images.ts';
import { containerdEnvironment } from '../tools/containerd.ts';

/** The programs of a cluster of kubeadm that run in pods, and kubectl for its network, by name. */
export type PodPrograms = Readonly<
  Record<
    'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kube-proxy' | 'etcd' | 'coredns' | 'kubectl' | 'containerd',
    string
  >
>;

/** Our etcd is older than the one of kubeadm, and its options have other names. */
const etcd = `#!/bin/sh
for option; do
  shift
  case $option in
  --feature-gates=*) ;;
  --watch-progress-notify-interval=*) set -- "$@" "--experimental$(echo "$option" | sed 's/^-//')" ;;
  *) set -- "$@" "$option" ;;
  esac
done
exec /usr/local/bin/etcd-program "$@"
`;

/** Our CoreDNS has only some plugins, and the others have blocks of a few lines. */
const coredns = `#!/bin/sh
sed -e '/^ *forward .* {/,/^ *}/d' -e '/^ *cache .* {/,/^ *}/d' -e '/^ *\\(prometheus\\|loop\\|reload\\|loadbalance\\|fallthrough\\|log\\)\\b/d' /etc/coredns/Corefile |
  exec /usr/local/bin/coredns -conf stdin
`;

/** The smallest network of pods that works: a bridge on each node, and routes to the pods of the others. */
const network = `#!/bin/sh
while :; do
  kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[0].address} {.spec.podCIDR}{"\\n"}{end}' | while read -r name address cidr; do
    [ -n "$cidr" ] || continue
    if [ "$name" != "$NODE" ]; then
      ip route replace "$cidr" via "$address"
    elif [ ! -s /etc/cni/net.d/10-capstan.conflist ]; then
      printf '{"cniVersion":"1.0.0","name":"pods","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,"hairpinMode":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"%s"}]],"routes":[{"dst":"0.0.0.0/0"}]}},{"type":"portmap","capabilities":{"portMappings":true},"snat":true}]}' "$cidr" > /etc/cni/net.d/new
      mv /etc/cni/net.d/new /etc/cni/net.d/10-capstan.conflist
    fi
  done
  sleep 2
done
`;

const registry = 'registry.k8s.io';
const networkImage = 'capstan.test/network:1';

/** The images that kubeadm of this version asks for, made of our own programs. */
export async function kubeadmImages(programs: PodPrograms, version: string): Promise<ImageDescription[]> {
  const own = (['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const).map((name) => ({
    names: [`${registry}/${name}:${version}`],
    programs: { [`usr/local/bin/${name}`]: programs[name] },
  }));
  return [
    ...own,
    {
      names: [`${registry}/kube-proxy:${version}`],
      programs: { 'usr/local/bin/kube-proxy': programs['kube-proxy'], ...(await packetFilter(programs.containerd)) },
      environment: ['LD_LIBRARY_PATH=/usr/lib/filter'],
    },
    {
      names: [`${registry}/etcd:3.6.4-0`],
      programs: { 'usr/local/bin/etcd-program': programs.etcd },
      scripts: { 'usr/local/bin/etcd': etcd },
    },
    {
      names: [`${registry}/coredns/coredns:v1.12.1`],
      programs: { 'usr/local/bin/coredns': programs.coredns },
      scripts: { 'start-coredns': coredns },
      entrypoint: ['/start-coredns'],
    },
    { names: [networkImage], programs: { 'usr/local/bin/kubectl': programs.kubectl }, scripts: { 'usr/local/bin/network': network } },
    { ...pauseImage, names: [...pauseImage.names, ...busyboxImage.names] },
  ];
}

/** nft with its libraries, by path in the image. */
async function packetFilter(containerd: string): Promise<Record<string, string>> {
  const nft = join(`${containerd}.tree`, 'usr/sbin/nft');
  const { LD_LIBRARY_PATH } = containerdEnvironment(containerd);
  const needed = await output('ldd', [nft], { environment: { LD_LIBRARY_PATH } });
  const files: Record<string, string> = { 'usr/bin/nft': nft };
  for (const [, name, path] of needed.matchAll(/^\s*(?:(\S+) => )?(\/\S+) \(0x/gm))
    files[name === undefined ? path!.slice(1) : `usr/lib/filter/${name}`] = path!;
  return files;
}

/** The objects of a network of pods. */
export const networkManifest = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'network', namespace: 'kube-system' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'network' },
    rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'network' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'network' },
    subjects: [{ kind: 'ServiceAccount', name: 'network', namespace: 'kube-system' }],
  },
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'network', namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: { app: 'network' } },
      template: {
        metadata: { labels: { app: 'network' } },
        spec: {
          serviceAccountName: 'network',
          hostNetwork: true,
          terminationGracePeriodSeconds: 0,
          tolerations: [{ operator: 'Exists' }],
          containers: [
            {
              name: 'network',
              image: networkImage,
              command: ['network'],
              env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
              securityContext: { privileged: true },
              volumeMounts: [{ name: 'settings', mountPath: '/etc/cni/net.d' }],
            },
          ],
          volumes: [{ name: 'settings', hostPath: { path: '/etc/cni/net.d', type: 'DirectoryOrCreate' } }],
        },
      },
    },
  },
];
