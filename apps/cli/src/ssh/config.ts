import { homedir } from 'node:os';
import { join } from 'node:path';
import type { UnitFlags } from '../units/units.ts';
import { hostSuffix, readIfThere, replaceFile, sshDirectory, writeKnownHosts } from './files.ts';
import { sshOptions } from './options.ts';
import { ownProgram } from './ssh.ts';

export interface ConfigFlags extends UnitFlags {
  readonly write?: true;
}

/** The part of an OpenSSH configuration for the units of this user. */
export function configBlock(options: ReturnType<typeof sshOptions>): string {
  return [`Host *${hostSuffix}`, ...options.map(([name, value]) => `  ${name} ${value}`), ''].join('\n');
}

/** Prints the block, or writes it and includes it in the user's own configuration. */
export function printConfig(flags: ConfigFlags): void {
  const directory = sshDirectory();
  const knownHosts = writeKnownHosts(directory);
  const block = configBlock(sshOptions({ flags, knownHosts, program: ownProgram(), environment: process.env }));
  if (flags.write !== true) return void process.stdout.write(block);
  const written = join(directory, 'config');
  replaceFile(written, block);
  const own = join(homedir(), '.ssh', 'config');
  const before = readIfThere(own) ?? '';
  const after = includeIn(before, written);
  if (after !== before) replaceFile(own, after);
  process.stdout.write(`${own} includes ${written}. Now "ssh NAME${hostSuffix}" reaches the unit NAME; so do scp, rsync and editors.\n`);
}

/** With the line that includes a file, once and first: after a `Host` it would count for that host only. */
export function includeIn(config: string, path: string): string {
  const line = `Include "${path}"`;
  return config.split('\n').includes(line) ? config : `${line}\n${config === '' ? '' : `\n${config}`}`;
}
