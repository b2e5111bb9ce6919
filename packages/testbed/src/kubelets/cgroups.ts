import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const mounted = '/sys/fs/cgroup';
/** Without these, kubelets do not start. */
const required = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];
const longestRemoval = 15_000;

/** Why a kubelet cannot have a control group here; undefined if it can. */
export function cgroupProblem(): string | undefined {
  const missing = required.filter((name) => !existsSync(join(mounted, name, 'cgroup.procs')));
  if (missing.length > 0) return `kubelets in tests need control groups of version 1; ${mounted} has no ${missing.join(', ')}`;
  try {
    using _probe = cgroup(`capstan-probe-${process.pid}`);
    return undefined;
  } catch (error) {
    return `control groups cannot be created here: ${(error as Error).message}`;
  }
}

/** A control group of this name in every hierarchy, in which a kubelet puts its pods. */
export function cgroup(name: string): Disposable & AsyncDisposable {
  const hierarchies = readdirSync(mounted).filter((hierarchy) => existsSync(join(mounted, hierarchy, 'cgroup.procs')));
  const groups = hierarchies.map((hierarchy) => join(mounted, hierarchy, name));
  // runc creates those of version 2, for its own use.
  for (const group of groups) if (!group.startsWith(join(mounted, 'unified'))) mkdirSync(group);
  const sets = join(mounted, 'cpuset');
  for (const file of ['cpuset.cpus', 'cpuset.mems']) writeFileSync(join(sets, name, file), readFileSync(join(sets, file)));
  const remove = (): string[] => groups.filter((group) => !isRemoved(group));
  return {
    [Symbol.dispose]: () => void remove(),
    /** The processes of a killed machine leave their groups a little later. */
    async [Symbol.asyncDispose]() {
      for (const end = Date.now() + longestRemoval; ; ) {
        const left = remove();
        if (left.length === 0) return;
        if (Date.now() > end) throw new Error(`these control groups still have processes: ${left.join(', ')}`);
        await sleep(100);
      }
    },
  };
}

/** Only empty groups can be removed, from the inside out. */
function isRemoved(group: string): boolean {
  if (!existsSync(group)) return true;
  for (const entry of readdirSync(group, { withFileTypes: true })) if (entry.isDirectory()) isRemoved(join(group, entry.name));
  try {
    rmdirSync(group);
    return true;
  } catch {
    return false;
  }
}
