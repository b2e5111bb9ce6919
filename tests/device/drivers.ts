/** Runs the suites of the drivers of processes with systemd: on this machine if systemd is its first process, or else on one that is made of namespaces. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { SystemdMachine } from '@capstan/testbed';

const suite = join(import.meta.dirname, 'systemd.test.js');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function onMachine(): Promise<number | null> {
  await using machine = await SystemdMachine.start();
  const [program, ...args] = machine.command(process.execPath, suite);
  return spawnSync(program, args, { stdio: 'inherit', timeout: 240_000 }).status;
}

if (existsSync('/run/systemd/system')) process.exitCode = spawnSync(process.execPath, [suite], { stdio: 'inherit' }).status ?? 1;
else {
  const problem = await SystemdMachine.problem();
  if (problem === undefined) process.exitCode = (await onMachine()) ?? 1;
  else say(`SKIPPED the drivers with systemd: ${problem}`);
}
