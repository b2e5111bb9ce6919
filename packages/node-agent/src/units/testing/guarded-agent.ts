import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { momentNow } from '../../time/moment.ts';
import { openExecDriver } from '../drivers/exec/open.ts';
import { GuardProcesses } from '../guards/guards.ts';
import { startEngine } from './engine.ts';
import { guardedTimes, guardedUnit } from './guarded.ts';

/** An agent with one unit, which is in contact with the control plane until the file `cut` exists: `node guarded-agent.ts <state directory> <unit> <isolation>`. */
const [directory = '', unit = '', isolation = 'none'] = process.argv.slice(2);
const driver = await openExecDriver({
  directory: join(directory, 'exec'),
  known: { isolation: isolation === 'full' ? 'full' : 'none' },
});
let moment = await momentNow();
const agent = await startEngine({
  directory,
  driver,
  now: () => moment,
  allowUnisolated: true,
  times: { ...guardedTimes, retryDelay: 100 },
  guards: (folder, times) =>
    new GuardProcesses({
      contact: join(folder, 'contact'),
      folder: (name) => join(folder, name),
      times,
      groups: [],
      log: (line) => agent.lines.push(line),
    }),
});
let said = '';
for (let isAccepted = false; ; await sleep(50)) {
  moment = await momentNow();
  if (!existsSync(join(directory, 'cut'))) {
    agent.contact.record(moment);
    if (!isAccepted) await agent.engine.accept(guardedUnit(unit));
    isAccepted = true;
  }
  const status = JSON.stringify(agent.status(unit) ?? {});
  if (status !== said) process.stdout.write(`${status}\n`);
  said = status;
}
