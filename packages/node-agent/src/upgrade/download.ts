import { createWriteStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { ConnectionOptions } from 'node:tls';
import { type AgentArchive, type AgentPlatform, agentArchivePath, agentManifestPath } from '@capstan/api';
import { fileHash } from '../archive/hash.ts';
import { callPage } from '../identity/calls.ts';
import type { Identity } from '../identity/state.ts';
import { UpgradeFailure } from './failure.ts';

export interface DownloadSource {
  readonly identity: Identity;
  readonly server: string;
  readonly signal: AbortSignal;
}

/** In milliseconds: a server that has to build the archive first needs some time, and one that sends nothing is given up. */
const manifestTimeout = 120_000;
const silence = 30_000;

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

interface Fetch {
  readonly from: number;
  readonly tls: ConnectionOptions;
  readonly tag: string;
  readonly signal: AbortSignal;
}

async function fetchRest(url: URL, file: string, { from, tls, tag, signal }: Fetch): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const outgoing = request(url, {
    ...tls,
    agent: false,
    signal,
    headers: { 'user-agent': 'capstan-node-agent', ...(from > 0 && { range: `bytes=${from}-`, 'if-range': tag }) },
  });
  outgoing.setTimeout(silence, () => outgoing.destroy(new Error('nothing arrived for half a minute')));
  outgoing.on('error', reject);
  outgoing.on('response', (incoming) => {
    const { statusCode = 0 } = incoming;
    if (statusCode !== 200 && statusCode !== 206) {
      incoming.resume();
      return reject(new Error(`status ${statusCode}`));
    }
    pipeline(incoming, createWriteStream(file, { flags: statusCode === 206 ? 'a' : 'w' })).then(resolve, reject);
  });
  outgoing.end();
  return promise;
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

function tlsOf({ authority: ca, certificate: cert, key }: Identity): ConnectionOptions {
  return { ca, cert, key };
}
