import { KernelRecords } from './records.ts';

/**
 * Whether the kernel's messages say that it has ended a process for the use of memory of a cgroup, also one that is gone. The group is a path as in `/proc/<pid>/cgroup`; the kernel may say more in
 * front of it.
 */
export async function hasKilledIn(group: string, records = new KernelRecords()): Promise<boolean> {
  await using all = records;
  const text = await all.read('oom-kill:').catch(() => '');
  return text.split('\n').some((line) => {
    // Programs may write to /dev/kmsg; the kernel marks their records with another facility than its own, 0.
    const [, facility = '8', memory = ''] = /^(\d{1,3}),[^;]*;oom-kill:.*,oom_memcg=([^,]+),/.exec(line) ?? [];
    return Number(facility) < 8 && (memory.endsWith(group) || memory.includes(`${group}/`));
  });
}
