import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { HostKey } from '@capstan/ssh';
import { Failure } from '../failure.ts';

/** Hosts that OpenSSH reaches through `capstan`: the name of a unit and this. */
export const hostSuffix = '.capstan';

/** Where the host key and the files for OpenSSH are. */
export const sshDirectory = (): string => join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'capstan', 'ssh');

const keyName = 'host_ed25519.pem';

/** The key that every unit shows to the OpenSSH of this user. Created if missing. */
export function hostKey(directory: string): HostKey {
  const path = join(directory, keyName);
  const text = readIfThere(path);
  if (text === undefined) {
    const created = HostKey.generate();
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    try {
      // Another process may do the same now: one key remains.
      writeFileSync(path, created.toPem(), { mode: 0o600, flag: 'wx' });
      return created;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      return hostKey(directory);
    }
  }
  try {
    return HostKey.fromPem(text);
  } catch (error) {
    throw new Failure(
      'usage',
      `${path} is not the host key of capstan ssh: ${(error as Error).message}. Delete it; another is created.`,
      error,
    );
  }
}

/** Writes the `known_hosts` that names the host key. Returns its path. */
export function writeKnownHosts(directory: string): string {
  const text = hostKey(directory).knownHosts(`*${hostSuffix}`);
  const path = join(directory, 'known_hosts');
  if (readIfThere(path) !== text) replaceFile(path, text);
  return path;
}

export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Readers see the old text or the new one. */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, text, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}
