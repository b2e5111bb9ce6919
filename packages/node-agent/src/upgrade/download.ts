import { rm } from 'node:fs/promises';
import type { ConnectionOptions } from 'node:tls';
import { type AgentArchive, type AgentPlatform, agentArchivePath, agentManifestPath } from '@capstan/api';
import { fileHash } from '../archive/hash.ts';
import { fetchRest, sizeOf } from '../downloads/fetch-rest.ts';
import { callPage } from '../identity/calls.ts';
import type { Identity } from '../identity/state.ts';
import { UpgradeFailure } from './failure.ts';

export interface DownloadSource {
  readonly identity: Identity;
  readonly server: string;
  readonly signal: AbortSignal;
}

/** In milliseconds: a server that has to build the archive first needs some time. */
const manifestTimeout = 120_000;

/** An archive that a server offers. */
export async function fetchManifest(platform: AgentPlatform, { identity, server, signal }: DownloadSource): Promise<AgentArchive> {
  const url = new URL(agentManifestPath(platform), server);
  const text = await callPage(url, { method: 'GET', tls: tlsOf(identity), signal, timeout: manifestTimeout });
  return JSON.parse(text) as AgentArchive;
}

/** Downloads an archive into a file and checks its hash. Continues with what an earlier attempt has left. */
export async function download(
  { platform, sha256, size }: AgentArchive,
  file: string,
  { identity, server, signal }: DownloadSource,
): Promise<void> {
  const present = await sizeOf(file);
  if (present > size) await rm(file, { force: true });
  const from = present > size ? 0 : present;
  try {
    if (from < size)
      await fetchRest(new URL(agentArchivePath(platform), server), file, { from, tls: tlsOf(identity), tag: `"${sha256}"`, signal });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC') {
      await rm(file, { force: true });
      throw new UpgradeFailure('NoSpace', `there is no space for the archive: ${message}`, { cause: error });
    }
    throw new UpgradeFailure('DownloadFailed', `the archive could not be downloaded from ${server}: ${message}`, { cause: error });
  }
  const found = await fileHash(file);
  if (found === sha256) return;
  await rm(file, { force: true });
  throw new UpgradeFailure('ChecksumMismatch', `the archive from ${server} has the SHA-256 ${found}, and ${sha256} was expected`);
}

function tlsOf({ authority: ca, certificate: cert, key }: Identity): ConnectionOptions {
  return { ca, cert, key };
}
