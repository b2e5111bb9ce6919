import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const mounted = '/sys/fs/cgroup';
/** Without these, kubelets do not start, and Slurm confines no jobs. */
const required = ['cpu', 'cpuacct', 'cpuset', 'devices', 'freezer', 'memory', 'pids'];
const longestRemoval = 15_000;

/** Why a kubelet cannot have a control group here; undefined if it can. */
export function cgroupProblem(): string | undefined {
  const missing = required.filter((name) => !existsSync(join(mounted, name, 'cgroup.procs')));
  if (missing.length > 0) return `this test needs control groups of version 1; ${mounted} has no ${missing.join(', ')}`;
  try {
    using _probe = cgroup(`capstan-probe-${process.pid}`);
    return undefined;
  } catch (error) {
    return `control groups cannot be created here: ${(error as Error).message}`;
  }
}

/**
 * A control group of this name in every hierarchy, in which a kubelet puts its pods. A nested one is below the groups of this process, which is where a machine
 * with groups of its own has its root.
 */
export function cgroup(name: string, { isNested = false } = {}): Disposable & AsyncDisposable {
  const hierarchies = readdirSync(mounted).filter((hierarchy) => existsSync(join(mounted, hierarchy, 'cgroup.procs')));
  const parent = isNested ? ownGroups() : new Map<string, string>();
  const groups = hierarchies.map((hierarchy) => join(mounted, hierarchy, parent.get(hierarchy) ?? '', name));
  // runc creates those of version 2, for its own use.
  for (const group of groups) if (!group.startsWith(join(mounted, 'unified'))) mkdirSync(group);
  const sets = join(mounted, 'cpuset', parent.get('cpuset') ?? '');
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

/** The groups of this process, by the names of their hierarchies. */
function ownGroups(): Map<string, string> {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  return new Map(
    lines.flatMap((line) => {
      const [, controllers = '', path = ''] = line.split(/:(.*?):(.*)/s);
      return [controllers, ...controllers.split(',')].map((name): [string, string] => [name, path]);
    }),
  );
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
