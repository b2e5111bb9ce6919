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
  const platform = owned.use(await AppPlatform.start());
  const release = program === 'kubeadm' ? await buildKubeadmRelease(directory.path) : await buildRelease(program, directory.path);
  await platform.addVersion(program, release.version, release.files);
  const environment = await distributionEnvironment();
  const prepare = async (host: Host): Promise<void> => {
    groups.use(await prepareHost(host));
    if (program !== 'kubeadm') return;
    await startRuntime(host);
    writeKubeletPatch(host);
  };
  const hosts = new Map<string, Host>();
  for (const name of names) hosts.set(name, await platform.addNode(name, prepare, { environment }));
  return { platform, hosts };
}
