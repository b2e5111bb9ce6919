import { join } from 'node:path';
import { type OpenContainerDriverOptions, openContainerDriver } from './container/open.ts';
import type { UnitDriver } from './driver.ts';
import { IsolatedNetwork } from './exec/network.ts';
import { openExecDriver } from './exec/open.ts';

export interface MachineDrivers extends AsyncDisposable {
  readonly all: readonly UnitDriver[];
}

export type OpenDriversOptions = Pick<OpenContainerDriverOptions, 'engine' | 'disk'>;

/** The drivers of this machine. Programs do not end with them. */
export async function openDrivers(stateDirectory: string, options: OpenDriversOptions = {}): Promise<MachineDrivers> {
  const hidden = [stateDirectory];
  const network = new IsolatedNetwork();
  const exec = await openExecDriver({ directory: join(stateDirectory, 'exec'), hidden, network });
  const container = await openContainerDriver({ directory: join(stateDirectory, 'containers'), hidden, exec, network, ...options });
  return {
    all: [exec, container],
    async [Symbol.asyncDispose]() {
      await container[Symbol.asyncDispose]();
      await network[Symbol.asyncDispose]();
    },
  };
}

/** Drivers that somebody else has opened, and closes. */
export function givenDrivers(all: readonly UnitDriver[]): MachineDrivers {
  return { all, [Symbol.asyncDispose]: async () => {} };
}
