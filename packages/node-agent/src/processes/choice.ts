import { join } from 'node:path';
import type { ProcessDriver } from './driver.ts';
import { Supervisor } from './supervisor.ts';
import { Systemd } from './systemd.ts';

export type DriverName = 'auto' | ProcessDriver['name'];

/** The driver of this machine: systemd where it is the first process, and the supervisor elsewhere. Rejects if the wanted one cannot be used. */
export async function chooseDriver(
  wanted: DriverName,
  { stateDirectory, groups }: { readonly stateDirectory: string; readonly groups: string | undefined },
): Promise<ProcessDriver> {
  // Both keep the same records, so that one finds the processes of the other.
  const directory = join(stateDirectory, 'processes');
  const problem = wanted === 'supervisor' ? undefined : await Systemd.problem();
  if (wanted === 'systemd' && problem !== undefined) throw new Error(`processes cannot be run with systemd: ${problem}`);
  return wanted === 'supervisor' || problem !== undefined ? new Supervisor({ directory, groups }) : new Systemd({ directory });
}
