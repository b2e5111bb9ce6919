import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { manifestOf, root } from '../place.ts';
import { common, pack } from './pack.ts';

/** Bundles the `capstan` command and packs it as one package, whose only dependency is Node. Returns the path of the tarball. */
export function packCommand(output: string): string {
  bundle();
  const staging = mkdtempSync(join(root, 'dist/command-'));
  try {
    copyCommand(staging);
    return pack(staging, commandManifest(), { readme: 'README.md', output });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

export function bundle(): void {
  mkdirSync(join(root, 'dist'), { recursive: true });
  execFileSync(process.execPath, [join(root, 'apps/cli/scripts/build.ts')], { stdio: 'inherit' });
}

/** Copies the parts of the command, in the layout that it expects. */
export function copyCommand(folder: string): void {
  for (const part of ['bin', 'dist']) cpSync(join(root, 'apps/cli', part), join(folder, part), { recursive: true });
}

export function commandManifest(): object {
  const { version, description, optionalDependencies } = manifestOf('.');
  return {
    name: 'capstan',
    version,
    description,
    ...common,
    bin: { capstan: 'bin/capstan' },
    files: ['bin', 'dist'],
    optionalDependencies,
  };
}
