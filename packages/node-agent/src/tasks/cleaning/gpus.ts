import type { GpuReading } from '@capstan/api';

/** Something that remains of an allocation. */
export interface Finding {
  readonly name: string;
  readonly message: string;
}

/** In bytes: drivers keep some memory of an idle card for themselves. */
const idleMemory = 2 ** 30;

export interface GpuTraces {
  /** Cards and MIG instances that only the allocation had. */
  readonly devices: ReadonlySet<string>;
  /** Processes of the allocation that were found, on whatever card. */
  readonly seen: ReadonlySet<number>;
}

/** Everything that still uses the GPUs of an allocation: its own processes on any card, and all others on cards that only it had. */
export function tracesOnGpus(readings: readonly GpuReading[], { devices, seen }: GpuTraces): Finding[] {
  return readings.flatMap(({ uuid, processes, memoryUsedBytes = 0 }) => {
    const isOwn = devices.has(uuid);
    const left = processes.filter(({ pid, migDevice }) => seen.has(pid) || isOwn || (migDevice !== undefined && devices.has(migDevice)));
    if (left.length > 0) {
      const names = left.map(({ pid, name }) => (name === undefined ? `${pid}` : `${pid} (${name})`)).join(', ');
      return [{ name: uuid, message: `its memory is still used by the processes ${names}`.slice(0, 1024) }];
    }
    if (!isOwn || processes.length > 0 || memoryUsedBytes <= idleMemory) return [];
    return [
      {
        name: uuid,
        message: `${Math.round((10 * memoryUsedBytes) / 2 ** 30) / 10} GiB of its memory are in use, by no process that is known`,
      },
    ];
  });
}
