import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../hosts/host.ts';
import type { HostProcess } from '../hosts/process.ts';
import { buildImages } from '../kubelets/images.ts';
import { containerdConfig, kubeletConfig } from '../kubelets/settings.ts';
import type { ToolName } from '../tools/catalogue.ts';
import { requireExactTool, requireTool, tool } from '../tools/tool.ts';
import { devicePluginImage, devicePluginManifest } from './device-plugin.ts';
import { kubeadmImages, networkManifest } from './kubeadm-images.ts';
import { cgroupFile } from './node.ts';
import type { Release } from './release.ts';

const version = 'v1.34.1';
const inPods = [
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kube-proxy',
  'etcd',
  'coredns',
  'kubectl',
  'containerd',
] as const;
const needed: readonly ToolName[] = [...inPods, 'kubeadm', 'kubelet', 'sample-device-plugin'];

/** Why kubeadm cannot be tested here; undefined if it can. Programs that are missing are built. */
export async function kubeadmProblem(): Promise<string | undefined> {
  for (const name of needed) {
    const found = await tool(name);
    if ('missing' in found) return found.missing;
  }
  return undefined;
}

/** The files of kubeadm for an installation without a network: the real programs, and images of them. */
export async function buildKubeadmRelease(directory: string): Promise<Release> {
  const programs = Object.fromEntries(await Promise.all(inPods.map(async (name) => [name, await requireTool(name)] as const)));
  const images = join(directory, 'images.tar');
  const busybox = join(`${programs['containerd']}.tree`, 'bin/busybox');
  await buildImages(busybox, await kubeadmImages(programs as Parameters<typeof kubeadmImages>[0], version), images);
  const plugin = join(directory, 'device-plugin-images.tar');
  await buildImages(busybox, [devicePluginImage(await requireTool('sample-device-plugin'))], plugin);
  const put = (name: string, objects: readonly object[]): string => {
    const path = join(directory, name);
    writeFileSync(path, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    return path;
  };
  return {
    version,
    files: {
      kubeadm: await requireTool('kubeadm'),
      kubelet: await requireTool('kubelet'),
      kubectl: await requireExactTool('kubectl'),
      'images.tar': images,
      'network.yaml': put('network.yaml', networkManifest),
      'device-plugin.yaml': put('device-plugin.yaml', [devicePluginManifest]),
      'device-plugin-images.tar': plugin,
    },
  };
}

/** Gives a host what kubeadm expects of it: containerd. */
export async function startRuntime(host: Host): Promise<HostProcess> {
  const containerd = await requireTool('containerd');
  const cri = 'plugins."io.containerd.grpc.v1.cri".containerd';
  // The disk of a pretended host is an overlay itself, so images cannot be.
  const config = containerdConfig(`${containerd}.tree`).replace('\n[', `\n[${cri}]\n  snapshotter = "native"\n\n[`);
  host.write('/etc/containerd/config.toml', config);
  const process = host.start('containerd', [containerd, '--config', '/etc/containerd/config.toml']);
  const ctr = join(`${containerd}.tree`, 'usr/bin/ctr');
  await process.waitUntil('it answers', async () => (await host.run([ctr, 'version'])).code === 0);
  return process;
}

/** A patch of the settings of kubelets, as owners of machines write them: for control groups of version 1, and a disk that is not the host's own. */
export function writeKubeletPatch(host: Host): void {
  const cgroup = host.read(cgroupFile).trim();
  const usual = JSON.parse(kubeletConfig({ name: '', address: '', podPrefix: '', cgroup }, {})) as Record<string, unknown>;
  const names = [
    ...['failCgroupV1', 'failSwapOn', 'cgroupRoot', 'enforceNodeAllocatable', 'oomScoreAdj', 'makeIPTablesUtilChains', 'evictionHard'],
    ...['imageGCHighThresholdPercent', 'imageGCLowThresholdPercent', 'nodeStatusUpdateFrequency', 'syncFrequency', 'shutdownGracePeriod'],
  ];
  const patch = Object.fromEntries(names.map((name) => [name, usual[name]]));
  host.write('/etc/kubernetes/patches/kubeletconfiguration1+merge.json', JSON.stringify(patch));
}
