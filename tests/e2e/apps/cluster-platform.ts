import {
  buildKubeadmRelease,
  buildRelease,
  distributionEnvironment,
  type Host,
  prepareHost,
  startRuntime,
  temporaryDirectory,
  writeKubeletPatch,
} from '@capstan/testbed';
import type { Program } from './kubernetes-hosts.ts';
import { AppPlatform } from './platform.ts';

export interface ClusterPlatform {
  readonly platform: AppPlatform;
  readonly hosts: ReadonlyMap<string, Host>;
}

/** A platform with a version of this program in its catalog, and nodes on which it can run. */
export async function startClusterPlatform(
  owned: AsyncDisposableStack,
  program: Program,
  names: readonly string[],
): Promise<ClusterPlatform> {
  const directory = owned.use(temporaryDirectory('release'));
  // The groups of pods can only be removed when their hosts are gone.
  const groups = owned.use(new AsyncDisposableStack());
  const build = program === 'kubeadm' ? buildKubeadmRelease(directory.path) : buildRelease(program, directory.path);
  const [platform, release, environment] = await Promise.all([
    AppPlatform.start().then((started) => owned.use(started)),
    build,
    distributionEnvironment(),
  ]);
  const prepare = async (host: Host): Promise<void> => {
    groups.use(await prepareHost(host));
    if (program !== 'kubeadm') return;
    await startRuntime(host);
    writeKubeletPatch(host);
  };
  const [hosts] = await Promise.all([
    Promise.all(names.map((name) => platform.addNode(name, prepare, { environment }))),
    platform.addVersion(program, release.version, release.files),
  ]);
  return { platform, hosts: new Map(hosts.map((host) => [host.name, host])) };
}
