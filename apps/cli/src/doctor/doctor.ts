import { columns } from '../columns.ts';
import { exitCodes } from '../failure.ts';
import type { ConnectionFlags } from '../workspaces/connection.ts';
import { type Check, machineChecks } from './machine.ts';
import { serverChecks } from './server.ts';

export interface DoctorFlags extends ConnectionFlags {
  readonly output?: 'json';
}

/** Says what this machine can do. Resolves with the exit code: 1 if something is wrong, but not if something is only missing. */
export async function examine({ output, ...flags }: DoctorFlags): Promise<number> {
  const checks = [...(await machineChecks()), ...(await serverChecks(flags))];
  if (output === 'json') process.stdout.write(`${JSON.stringify(checks, undefined, 2)}\n`);
  else for (const line of columns(checks.map(rowOf))) process.stdout.write(`${line}\n`);
  return checks.some(({ state }) => state === 'wrong') ? exitCodes.unexpected : 0;
}

function rowOf({ state, name, found, advice }: Check): string[] {
  return [state, name, advice === undefined ? found : `${found}. ${advice}`];
}
