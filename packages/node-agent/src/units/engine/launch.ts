import type { UnitDriver, UnitRoom } from '../drivers/driver.ts';
import type { UnitRecord } from '../records/record.ts';
import { refuseIfCutOff } from './endings.ts';
import type { RunContext } from './run-context.ts';

export interface Prepared {
  readonly driver: UnitDriver;
  readonly room: UnitRoom;
}

/** Starts the program of a record as soon as it is permitted, with its guard. Rejects with a UnitProblem, and then nothing runs. */
export async function launch(
  record: UnitRecord,
  { driver, room, permitted }: Prepared & { readonly permitted: Promise<void> },
  { guards, contactAge }: Pick<RunContext, 'guards' | 'contactAge'>,
): Promise<void> {
  refuseIfCutOff(record.spec, await contactAge());
  await guards.arm(record);
  await driver.start(room, record.incarnation, { permitted });
}
