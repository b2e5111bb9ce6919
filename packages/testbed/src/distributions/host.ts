import { cgroup, cgroupProblem } from '../hosts/cgroups.ts';
import type { Host } from '../hosts/host.ts';
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
  const name = `capstan-${process.pid}-${host.name}`;
  const group = cgroup(name, { isNested: true });
  host.write(cgroupFile, `${name}\n`);
  const { code, stderr } = await host.run(['sh', '-ec', script]);
  if (code === 0) return group;
  group[Symbol.dispose]();
  throw new Error(`the control groups of ${host.name} cannot be mounted: ${stderr}`);
}

const script = `
umount /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/unified
mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
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
