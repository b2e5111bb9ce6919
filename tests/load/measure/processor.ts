import { readdirSync, readFileSync } from 'node:fs';

/** The processor time in seconds that these processes and their descendants have used so far. */
export function processorSeconds(roots: readonly number[]): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readIfThere(`/proc/${name}/stat`);
    if (stat !== undefined) parents.set(Number(name), parentOf(stat));
  }
  const isMeant = (pid: number): boolean => roots.includes(pid) || (parents.has(pid) && isMeant(parents.get(pid)!));
  return [...parents.keys()].filter(isMeant).reduce((sum, pid) => sum + ofThreads(pid), 0);
}

/** In nanoseconds per thread: the kernel's times for whole processes are in hundredths of a second, too coarse for nearly idle ones. */
function ofThreads(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readIfThere(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0);
  return nanoseconds / 1e9;
}

/** Reads a line of /proc/<pid>/stat. The name of the program is in brackets and may contain anything, brackets too. */
export function parentOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
