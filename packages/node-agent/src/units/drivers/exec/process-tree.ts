import { readdir, readFile } from 'node:fs/promises';
import type { RoomUsage } from '../driver.ts';

/** Ticks in a second, and bytes in a page, on all machines that matter here. */
const ticks = 100;
const page = 4096;

/** The use of resources of everything below a process, on machines without cgroups. What ended long ago is counted by its parent. */
export async function treeUsage(root: number): Promise<RoomUsage> {
  const children = new Map<number, { pid: number; seconds: number; bytes: number }[]>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const parent = fields[1]!;
    const seconds = fields.slice(11, 15).reduce((sum, value) => sum + value, 0) / ticks;
    const entry = { pid: Number(name), seconds, bytes: fields[21]! * page };
    children.set(parent, [...(children.get(parent) ?? []), entry]);
  }
  let usage: RoomUsage = { cpuSeconds: 0, memoryBytes: 0 };
  const add = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      usage = { cpuSeconds: usage.cpuSeconds + child.seconds, memoryBytes: usage.memoryBytes + child.bytes };
      add(child.pid);
    }
  };
  add(root);
  return usage;
}
