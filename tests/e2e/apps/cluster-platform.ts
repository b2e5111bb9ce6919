import { buildRelease, distributionEnvironment, type Host, prepareHost, temporaryDirectory } from '@capstan/testbed';
import { AppPlatform } from './platform.ts';

export interface ClusterPlatform {
  readonly platform: AppPlatform;
  readonly hosts: ReadonlyMap<string, Host>;
}

/** A platform with a version of this program in its catalog, and nodes on which it can run. */
export async function startClusterPlatform(
  owned: AsyncDisposableStack,
  program: 'k3s' | 'rke2',
  names: readonly string[],
): Promise<ClusterPlatform> {
  const directory = owned.use(temporaryDirectory('release'));
  // The groups of pods can only be removed when their hosts are gone.
  const groups = owned.use(new AsyncDisposableStack());
  const platform = owned.use(await AppPlatform.start());
  const release = await buildRelease(program, directory.path);
  await platform.addVersion(program, release.version, release.files);
  const environment = await distributionEnvironment();
  const prepare = async (host: Host): Promise<void> => void groups.use(await prepareHost(host));
  const hosts = new Map<string, Host>();
  for (const name of names) hosts.set(name, await platform.addNode(name, prepare, { environment }));
  return { platform, hosts };
}
