import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { Failure } from '../failure.ts';
import type { UnitFlags } from '../units/units.ts';
import { hostSuffix, sshDirectory, writeKnownHosts } from './files.ts';
import { sshOptions } from './options.ts';

/** Flags that OpenSSH has too, with the same letters. */
export interface SshFlags extends UnitFlags {
  readonly L?: readonly string[];
  readonly D?: readonly string[];
  readonly o?: readonly string[];
  readonly W?: string;
  readonly l?: string;
  readonly N?: true;
  readonly tty?: boolean;
  readonly verbose?: true;
}

/** The command line that runs this program again. */
export const ownProgram = (): readonly string[] => [process.execPath, process.argv[1]!];

/** Runs the OpenSSH client of this machine for a unit. Resolves with its exit code. */
export function openSsh(unit: string, command: readonly string[], flags: SshFlags): Promise<number> {
  const knownHosts = writeKnownHosts(sshDirectory());
  const options = sshOptions({ flags, knownHosts, program: ownProgram(), environment: process.env });
  const words = [
    // Earlier options win.
    ...options.flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...(['o', 'L', 'D'] as const).flatMap((letter) => (flags[letter] ?? []).flatMap((value) => [`-${letter}`, value])),
    ...(['W', 'l'] as const).flatMap((letter) => (flags[letter] === undefined ? [] : [`-${letter}`, flags[letter]])),
    ...(flags.N === true ? ['-N'] : []),
    ...(flags.tty === undefined ? [] : [flags.tty ? '-t' : '-T']),
    ...(flags.verbose === true ? ['-v'] : []),
    '--',
    unit.endsWith(hostSuffix) ? unit : unit + hostSuffix,
    ...command,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn('ssh', words, { stdio: 'inherit' });
    child.once('error', (error: NodeJS.ErrnoException) => {
      const missing =
        'the program ssh is not installed; on Debian and Ubuntu: "apt install openssh-client". "capstan shell" needs no other program.';
      reject(error.code === 'ENOENT' ? new Failure('usage', missing, error) : error);
    });
    // The terminal sends these to both.
    const ignore = (): void => {};
    process.on('SIGINT', ignore).on('SIGQUIT', ignore);
    const end = (): void => void child.kill('SIGTERM');
    process.once('SIGTERM', end);
    child.once('exit', (code, signal) => {
      process.off('SIGINT', ignore).off('SIGQUIT', ignore).off('SIGTERM', end);
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
