import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { artifactPath } from '@capstan/api';
import { Backoff, type BackoffOptions } from '@capstan/machinery';
import { fileHash } from '../archive/hash.ts';
import { fetchRest, RefusedDownload, sizeOf } from '../downloads/fetch-rest.ts';
import type { Identity } from '../identity/state.ts';
import { TaskFailure } from './failure.ts';
import type { TaskContext } from './task-type.ts';

/** The artifacts of the control plane. */
export interface ArtifactSource {
  /** Downloads an artifact into a file, which has its hash when this resolves. Continues with what an earlier attempt has left in the file. */
  download(sha256: string, file: string, context: Pick<TaskContext, 'signal' | 'step'>): Promise<void>;
}

export interface ArtifactSourceOptions {
  readonly identity: () => Pick<Identity, 'authority' | 'certificate' | 'key'>;
  /** URLs of the API servers, the best first. */
  readonly servers: () => readonly string[];
  readonly backoff: BackoffOptions;
  readonly silence?: number;
}

/** Downloads from the API servers. One that cannot be reached, or breaks off, is followed by the next, until the task is given up. */
export class ServedArtifacts implements ArtifactSource {
  readonly #options: ArtifactSourceOptions;

  constructor(options: ArtifactSourceOptions) {
    this.#options = options;
  }

  async download(sha256: string, file: string, { signal, step }: Pick<TaskContext, 'signal' | 'step'>): Promise<void> {
    const backoff = new Backoff(this.#options.backoff);
    for (;;) {
      const before = await sizeOf(file);
      const problem = await this.#round(sha256, file, signal);
      if (problem === undefined) break;
      const present = await sizeOf(file);
      step(`downloading the artifact again from byte ${present}: ${problem}`);
      // A connection that brings something on is no reason to wait longer and longer.
      if (present > before) backoff.reset();
      await sleep(backoff.next(), undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    await check(sha256, file);
  }

  /** Asks each server once. Returns undefined when the download is complete, and otherwise the last problem. */
  async #round(sha256: string, file: string, signal: AbortSignal): Promise<string | undefined> {
    const { identity, servers, silence } = this.#options;
    const { authority: ca, certificate: cert, key } = identity();
    let problem: string | undefined;
    let missing = 0;
    const all = servers();
    for (const server of all) {
      const from = await sizeOf(file);
      const options = { from, tls: { ca, cert, key }, tag: `"${sha256}"`, signal, ...(silence !== undefined && { silence }) };
      try {
        await fetchRest(new URL(artifactPath(sha256), server), file, options);
        return undefined;
      } catch (error) {
        signal.throwIfAborted();
        // Nothing is missing at the end of the file; the hash says whether it is the right one.
        if (error instanceof RefusedDownload && error.status === 416) return undefined;
        const { code, message } = error as NodeJS.ErrnoException;
        if (code === 'ENOSPC' || code === 'EDQUOT') {
          await rm(file, { force: true });
          throw new TaskFailure('DiskFull', `there is no room for the artifact in ${file}`, { cause: error });
        }
        if (error instanceof RefusedDownload && error.status === 404) missing++;
        problem = `${server}: ${message}`;
      }
    }
    if (missing === all.length)
      throw new TaskFailure('UnknownArtifact', `there is no artifact ${sha256}; add it with "capstan artifact add"`);
    return problem ?? 'no API server is known';
  }
}

async function check(sha256: string, file: string): Promise<void> {
  const found = await fileHash(file);
  if (found === sha256) return;
  await rm(file, { force: true });
  throw new TaskFailure('ChecksumMismatch', `the artifact has the SHA-256 ${found}, and ${sha256} was expected`);
}
