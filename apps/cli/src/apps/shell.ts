import { appMemberKind } from '@capstan/api';
import { ApiError } from '@capstan/client';
import { Failure } from '../failure.ts';
import { RemoteCommand } from '../units/streams/command.ts';
import { NodeAway } from '../units/streams/pod.ts';
import { converse, hasTerminal } from '../units/streams/terminal.ts';
import { type AppFlags, findInstance, openApps } from './apps.ts';

export interface ShellFlags extends AppFlags {
  readonly tty?: boolean;
}

/** Opens a shell, or runs a command in it, on the member that an instance names for that. Resolves with its exit code. */
export async function openAppShell(name: string, command: readonly string[], flags: ShellFlags): Promise<number> {
  using apps = openApps(flags);
  const { status } = await findInstance(apps, name);
  const member = status?.access?.shell;
  if (member === undefined)
    throw new Failure('usage', `${name} gives no shells${status?.state === 'running' ? '' : `: it is ${status?.state ?? 'pending'}`}.`);
  const tty = flags.tty ?? (hasTerminal() && command.length === 0);
  const { group, version, resource } = appMemberKind;
  const path = `/apis/${group}/${version}/namespaces/${encodeURIComponent(apps.namespace)}/${resource}/${encodeURIComponent(member)}`;
  const query = { command, stdin: true, stdout: true, stderr: !tty, tty };
  try {
    const remote = await RemoteCommand.begin({ units: apps, name: member, path }, query);
    const result = await converse(remote, { tty });
    if (result?.message !== undefined) process.stderr.write(`capstan: ${result.message}\n`);
    return result?.code ?? 0;
  } catch (error) {
    if (error instanceof ApiError || error instanceof NodeAway) throw new Failure('unexpected', `${member}: ${error.message}`, error);
    throw error;
  }
}
