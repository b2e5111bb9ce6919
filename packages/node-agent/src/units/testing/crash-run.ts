import { existsSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitDriver } from '../drivers/driver.ts';
import { openExecDriver } from '../drivers/exec/open.ts';
import type { UnitRecord } from '../records/record.ts';
import { type CrashPoint, crashing, crashingUnit } from './crash-points.ts';
import { startEngine } from './engine.ts';

/** Runs a unit in an engine that is killed at a point: `node crash-run.ts <state directory> <point> <marker>`. */
const [directory = '', point = '', marker = ''] = process.argv.slice(2);

function dieAt(here: CrashPoint): void {
  if (here === point) process.kill(process.pid, 'SIGKILL');
}

const real = await openExecDriver({ directory: join(directory, 'exec'), known: { isolation: 'none' } });
const driver: UnitDriver = {
  name: 'exec',
  isolation: 'none',
  prepare: async (room) => {
    await real.prepare(room);
    dieAt('preparing');
  },
  start: async (room, incarnation, options) => {
    await real.start(room, incarnation, options);
    dieAt('started');
  },
  find: async (id, incarnation) => {
    const found = await real.find(id, incarnation);
    if (found?.phase === 'exited') dieAt('ended');
    return found;
  },
  changed: (id, incarnation, signal) => real.changed(id, incarnation, signal),
  stop: async (id, grace) => {
    await real.stop(id, grace);
    dieAt('stopped');
  },
  remove: async (id) => {
    await real.remove(id);
    dieAt('removed');
  },
  log: (id, incarnation) => real.log(id, incarnation),
  exec: (id, command) => real.exec(id, command),
  attach: (id, options) => real.attach(id, options),
  connect: (id, port) => real.connect(id, port),
  usage: (id) => real.usage(id),
  list: () => real.list(),
};

const now = () => ({ wall: Date.now(), boot: 'boot', uptime: uptime() * 1_000 });
const agent = await startEngine({ directory, driver, now, allowUnisolated: true, times: { retryDelay: 100 } });
const write = agent.records.write.bind(agent.records);
agent.records.write = async (record: UnitRecord) => {
  if (point === 'starting' && record.state.phase === 'Running') {
    // The launcher is there, and may not start the program without the record.
    while (!existsSync(join(directory, 'exec', 'units', crashingUnit, '0', 'monitor'))) await sleep(5);
    await sleep(200);
    dieAt('starting');
  }
  await write(record);
  if (record.removedAt !== undefined) dieAt('removing');
  const points: Partial<Record<UnitRecord['state']['phase'], CrashPoint>> = {
    Pending: 'accepted',
    Running: 'recorded',
    Restarting: 'restarting',
    Stopping: 'stopping',
  };
  const reached = points[record.state.phase];
  if (reached !== undefined) dieAt(reached);
};
const unit = crashing(point as CrashPoint, marker);
await agent.engine.accept(unit);
while (agent.status(crashingUnit)?.phase !== 'Running') await sleep(10);
if (point === 'removing' || point === 'removed') await agent.engine.remove(crashingUnit);
else if (point === 'stopping' || point === 'stopped')
  await agent.engine.accept({ ...unit, metadata: { ...unit.metadata, generation: 2 }, spec: { ...unit.spec, stopped: true } });
// The test ends it if the point is never reached.
setInterval(() => {}, 1_000);
