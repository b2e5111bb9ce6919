import type { Device } from './node.ts';

/** The most free GPUs that are connected with each other. A GPU without NVLink is connected with itself only. */
export function largestLinked(free: readonly Device[]): number {
  let largest = free.length > 0 ? 1 : 0;
  const sizes = new Map<string, number>();
  for (const { nvlink } of free) {
    if (nvlink === undefined) continue;
    const size = (sizes.get(nvlink) ?? 0) + 1;
    sizes.set(nvlink, size);
    if (size > largest) largest = size;
  }
  return largest;
}

/**
 * Chooses so many of the free GPUs, of which there are enough: from the smallest sufficient NVLink group, so that larger ones stay whole;
 * if none suffices, whole groups from the largest down. Inside a group the same holds for NUMA nodes.
 */
export function chooseDevices(free: readonly Device[], count: number): Device[] {
  if (free.length === count) return [...free];
  return choose(free, count, [({ nvlink, uuid }) => nvlink ?? `/${uuid}`, ({ numa }) => `${numa ?? ''}`]);
}

function choose(free: readonly Device[], count: number, levels: readonly ((gpu: Device) => string)[]): Device[] {
  const [level, ...finer] = levels;
  if (level === undefined || count === 0) return free.slice(0, count);
  const groups = [...Map.groupBy(free, level).values()].sort((a, b) => a.length - b.length);
  const chosen: Device[] = [];
  while (chosen.length < count) {
    const missing = count - chosen.length;
    const fitting = groups.find((group) => group.length >= missing);
    if (fitting !== undefined) return [...chosen, ...choose(fitting, missing, finer)];
    chosen.push(...groups.pop()!);
  }
  return chosen;
}
