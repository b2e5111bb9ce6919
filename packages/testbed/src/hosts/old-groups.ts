import { cgroup } from './cgroups.ts';
import type { Host } from './host.ts';

/** The name of the control group of a host. */
export const groupOf = (host: Host): string => `capstan-${process.pid}-${host.name}`;

/**
 * Gives a host control groups of version 1 of its own, where systemd mounts them. Do it before any program runs there, and dispose the result after the host.
 */
export const mountOldGroups = (host: Host): Promise<AsyncDisposable> => mountGroups(host, ownGroups);

/** Mounts the control groups of version 2, and those of version 1 beside them as the script does: `$1` is the name of the group of the host. */
export async function mountGroups(host: Host, script: string): Promise<AsyncDisposable> {
  const group = cgroup(groupOf(host), { isNested: true });
  const { code, stderr } = await host.run(['sh', '-ec', newGroups + script, 'sh', groupOf(host)]);
  if (code === 0) return group;
  group[Symbol.dispose]();
  throw new Error(`the control groups of ${host.name} cannot be mounted: ${stderr}`);
}

const newGroups = `
umount /sys/fs/cgroup
mount -t tmpfs tmpfs /sys/fs/cgroup
mkdir /sys/fs/cgroup/unified
mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
`;

const ownGroups = `
while IFS=: read -r id controllers path; do
  [ -n "$controllers" ] || continue
  folder=/sys/fs/cgroup/\${controllers#name=}
  option=$controllers
  case $controllers in name=*) option=none,$controllers ;; esac
  mkdir "$folder"
  mount -t cgroup -o "$option" cgroup "$folder"
  mount --bind "$folder/$1" "$folder"
  case $controllers in
  *,*) for one in $(echo "$controllers" | tr , ' '); do ln -s "$controllers" "/sys/fs/cgroup/$one"; done ;;
  esac
done < /proc/self/cgroup
`;
