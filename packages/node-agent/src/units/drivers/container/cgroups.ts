import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RoomUsage } from '../driver.ts';

/** Where the cgroups of a container are: one folder in version 2, and one for each controller in version 1. */
export type BoxGroups = Readonly<Record<'cpu' | 'memory', string>>;

const top = '/sys/fs/cgroup';

/** Undefined if the process has ended. */
export async function groupsOfProcess(pid: number): Promise<BoxGroups | undefined> {
  const text = await readText(`/proc/${pid}/cgroup`);
  if (text === undefined) return undefined;
  const lines = text.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line));
  const folder = (controller: string): string | undefined => {
    const found = lines.find((line) => line?.[1]?.split(',').includes(controller));
    return found?.[2] && join(top, controller, found[2]);
  };
  const [cpu, memory] = [folder('cpuacct'), folder('memory')];
  if (cpu !== undefined && memory !== undefined) return { cpu, memory };
  const unified = lines.find((line) => line?.[1] === '')?.[2];
  return unified === undefined ? undefined : { cpu: join(top, unified), memory: join(top, unified) };
}

export async function usageOf(groups: BoxGroups): Promise<RoomUsage | undefined> {
  const seconds = numberIn(await readText(join(groups.cpu, 'cpu.stat')), /^usage_usec (\d+)/m, 1e6);
  const old = numberIn(await readText(join(groups.cpu, 'cpuacct.usage')), /^(\d+)/, 1e9);
  const memory = (await readText(join(groups.memory, 'memory.current'))) ?? (await readText(join(groups.memory, 'memory.usage_in_bytes')));
  const cpuSeconds = seconds ?? old;
  return cpuSeconds === undefined ? undefined : { cpuSeconds, memoryBytes: Number(memory ?? 0) };
}

/** Whether the kernel has ended a process of the group for its use of memory. Not every version of conmon notices. Undefined if the group is gone. */
export async function ranOutOfMemory(groups: BoxGroups): Promise<boolean | undefined> {
  const text = (await readText(join(groups.memory, 'memory.events'))) ?? (await readText(join(groups.memory, 'memory.oom_control')));
  return text === undefined ? undefined : (numberIn(text, /^oom_kill (\d+)/m, 1) ?? 0) > 0;
}

function numberIn(text: string | undefined, pattern: RegExp, unit: number): number | undefined {
  const found = text === undefined ? undefined : pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found) / unit;
}

/** As the kernel names it in its messages. */
export const memoryGroupName = ({ memory }: BoxGroups): string => memory.replace(top, '').replace(/^\/memory(?=\/)/, '');

async function readText(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').catch(() => undefined);
}
