import { readdir, readFile } from 'node:fs/promises';

/** The environment variable that marks every process of a task, for machines without cgroups. */
export const marker = 'CAPSTAN_PROCESS';

/** The environment variable that marks every process of an allocation. */
export const allocationMarker = 'CAPSTAN_ALLOCATION';

let boot: string | undefined;

/** Changes with every start of the machine. Read once, because no process outlives that: a file would wait for the slow writes of others whenever the time is asked for. */
export async function bootId(): Promise<string> {
  boot ??= (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  return boot;
}

export interface ProcessEntry {
  readonly pid: number;
  readonly session: number;
  readonly isZombie: boolean;
}

/** Undefined if the process has ended. */
export async function processEntry(pid: number): Promise<ProcessEntry | undefined> {
  let text: string;
  try {
    text = await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The name, in parentheses, may itself contain spaces and parentheses.
  const [state, , , session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid, session: Number(session), isZombie: state === 'Z' };
}

/** `123 (cat) in uninterruptible sleep at nfs_wait_bit`: why a process may not have ended. */
export async function processWords(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return String(pid);
  const end = text.lastIndexOf(')');
  const state = text[end + 2]!;
  // Only root may read where a process waits; 0 says nothing.
  const place = (await readFile(`/proc/${pid}/wchan`, 'utf8').catch(() => '')).trim();
  const words = state === 'D' ? 'in uninterruptible sleep' : `in state ${state}`;
  return `${text.slice(0, end + 1)} ${words}${place === '' || place === '0' ? '' : ` at ${place}`}`;
}

/** Pids are used again, but not with the same start time. Undefined if the process has ended. */
export async function startTime(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

/** The live processes of a session, and those that carry the marker of an id. */
export async function processesOf(id: string, session: number | undefined): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const entry = await processEntry(pid);
    if (entry === undefined || entry.isZombie) continue;
    if ((session !== undefined && entry.session === session) || (await isMarked(pid, id))) found.push(pid);
  }
  return found;
}

/** The live processes with a value of an environment variable. */
export async function processesMarked(variable: string, value: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    const pid = /^\d+$/.test(name) ? Number(name) : undefined;
    if (pid === undefined || !(await isMarked(pid, value, variable))) continue;
    const entry = await processEntry(pid);
    if (entry !== undefined && !entry.isZombie) found.push(pid);
  }
  return found;
}

export async function isMarked(pid: number, id: string, variable = marker): Promise<boolean> {
  try {
    return (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0').includes(`${variable}=${id}`);
  } catch {
    // It has ended, or belongs to somebody else.
    return false;
  }
}
