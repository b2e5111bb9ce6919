import { readdirSync, readFileSync } from 'node:fs';

/** What Linux calls USER_HZ: 100 on every machine that we know of. */
const ticksPerSecond = 100;

interface Usage {
  readonly parent: number;
  readonly seconds: number;
}

/** Processor time in seconds that these processes and all below them have used so far. */
export function processorSeconds(roots: readonly number[]): number {
  const usages = new Map<number, Usage>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      usages.set(Number(name), parseUsage(readFileSync(`/proc/${name}/stat`, 'utf8')));
    } catch {
      // Gone meanwhile.
    }
  }
  const isOurs = (pid: number): boolean => roots.includes(pid) || (usages.has(pid) && isOurs(usages.get(pid)!.parent));
  return [...usages].filter(([pid]) => isOurs(pid)).reduce((sum, [, { seconds }]) => sum + seconds, 0);
}

/** Reads a line of /proc/<pid>/stat. The name of the program stands in brackets and may have anything in it, brackets too. */
export function parseUsage(stat: string): Usage {
  const [, parent, , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(parent), seconds: (Number(user) + Number(system)) / ticksPerSecond };
}
