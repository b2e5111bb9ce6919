import { cgroupProblem } from '../hosts/cgroups.ts';
import type { Host } from '../hosts/host.ts';
import { groupOf, mountGroups } from '../hosts/old-groups.ts';
import { containerdEnvironment } from '../tools/containerd.ts';
import { requireTool } from '../tools/tool.ts';
import { cgroupFile } from './node.ts';
import { type ReleaseNeeds, releaseProblem } from './release.ts';

/** Why no pretended host can run a distribution here; undefined if one can. */
export async function distributionProblem(needs: ReleaseNeeds = {}): Promise<string | undefined> {
  return cgroupProblem() ?? (await releaseProblem(needs));
}

/** The environment of programs on hosts that run a distribution: it has packet filters and the programs of containers. */
export async function distributionEnvironment(): Promise<Readonly<Record<string, string>>> {
  return containerdEnvironment(await requireTool('containerd'));
}

/**
 * Mounts the control groups of version 1 beside those of version 2 on a host, as this machine has them, so that a kubelet starts. Do it before any program runs there, and dispose
 * the result after the host.
 */
export async function prepareHost(host: Host): Promise<AsyncDisposable> {
  host.write(cgroupFile, `${groupOf(host)}\n`);
  return mountGroups(host, script);
}

const script = `
while IFS=: read -r id controllers path; do
  case $controllers in '' | name=*) continue ;; esac
  mkdir "/sys/fs/cgroup/$controllers"
  mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers"
  case $controllers in
  *,*) for one in $(echo "$controllers" | tr , ' '); do ln -s "$controllers" "/sys/fs/cgroup/$one"; done ;;
  esac
done < /proc/self/cgroup
mount --make-rshared /
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet
`;
