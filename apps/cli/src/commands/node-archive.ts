import { join } from 'node:path';
import type { AgentPlatform } from '@capstan/api';
import { buildArchive } from '@capstan/node-agent';
import { bundle, licenseFile } from '../agent-archives/bundle.ts';
import { archiveDirectory } from '../agent-archives/preparation.ts';
import { runtimeFor } from '../agent-archives/runtime.ts';
import { capstanVersion } from './version.ts';

export interface NodeArchiveFlags {
  readonly arch?: 'x64' | 'arm64';
  readonly dataDir: string;
  readonly build?: string;
}

/** Builds the archive from which machines of an architecture install the agent. A running server finds it at once. */
export async function nodeArchive({ arch, dataDir, build }: NodeArchiveFlags): Promise<void> {
  const platform: AgentPlatform = `linux-${arch ?? (process.arch === 'arm64' ? 'arm64' : 'x64')}`;
  using runtime = await runtimeFor(platform);
  using built = await bundle();
  const directory = archiveDirectory(dataDir);
  const { version, sha256, size, file } = await buildArchive(directory, {
    platform,
    version: capstanVersion().split('+')[0]!,
    build,
    bundle: built.directory,
    runtime,
    license: licenseFile(),
  });
  process.stdout.write(`${join(directory, file)}: ${version} for ${platform}, ${(size / (1 << 20)).toFixed(1)} MiB, SHA-256 ${sha256}\n`);
}
