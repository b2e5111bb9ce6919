import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from '../command.ts';
import { missingPackages } from './debian-tree.ts';

/** Debian packages that hosts of tests install and remove by apt, without a network. */
export interface DebianRepository {
  readonly packages: readonly string[];
}

/**
 * Downloads the packages, and those of their dependencies that this machine lacks, into a repository at `target.repository`. The script at `target` makes
 * it the only repository of the host on which it runs. Returns the reason on failure, undefined on success.
 */
export async function downloadRepository({ packages }: DebianRepository, target: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return 'Debian packages need root on Debian';
  const names = await missingPackages(packages);
  if (names.length === 0) return `Debian has no ${packages.join(', ')} for this machine, or the machine has them already`;
  const repository = `${target}.repository`;
  rmSync(repository, { recursive: true, force: true });
  mkdirSync(repository, { recursive: true });
  await output('apt-get', ['download', ...names], { directory: repository });
  await writeIndex(repository);
  const script = `${target}.${process.pid}`;
  writeFileSync(script, scriptFor(repository));
  chmodSync(script, 0o755);
  renameSync(script, target);
  return undefined;
}

async function writeIndex(repository: string): Promise<void> {
  const entries: string[] = [];
  for (const file of readdirSync(repository)) {
    const path = join(repository, file);
    const control = (await output('dpkg-deb', ['--field', path])).trim();
    const hash = createHash('sha256').update(readFileSync(path)).digest('hex');
    entries.push(`${control}\nFilename: ./${file}\nSize: ${statSync(path).size}\nSHA256: ${hash}\n`);
  }
  writeFileSync(join(repository, 'Packages'), entries.join('\n'));
}

function scriptFor(repository: string): string {
  return `#!/bin/sh
set -e
mkdir -p /etc/apt/capstan /var/lib/apt/capstan/partial
echo 'deb [trusted=yes] file:${repository} ./' > /etc/apt/capstan/sources.list
cat > /etc/apt/apt.conf.d/99capstan << 'END'
Dir::Etc::sourcelist "/etc/apt/capstan/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "/var/lib/apt/capstan";
APT::Sandbox::User "root";
Dpkg::Options { "--force-unsafe-io"; };
END
apt-get --quiet=2 update
`;
}
