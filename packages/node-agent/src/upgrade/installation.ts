import { execFile } from 'node:child_process';
import { access, constants, mkdir, readdir, readlink, rename, rm, statfs, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { AgentArchive } from '@capstan/api';
import { readIfThere, writeAtomically } from '@capstan/pki';
import { UpgradeFailure } from './failure.ts';
import { installationFiles as files, prefixVariable } from './launcher.ts';

const execute = promisify(execFile);
/** In bytes, beside the archive and its contents. */
const spareSpace = 16 << 20;
/** In milliseconds. */
const checkTimeout = 60_000;

/** A version that was given up. */
export interface GivenUp {
  readonly version: string;
  readonly why: string;
  /** The request that led to it. */
  readonly request: string;
}

/**
 * The directory that the install script and the launcher share with the agent: `versions/<version>` with the programs, and `current`, a link to one of them. The
 * launcher starts what `current` points to.
 */
export class Installation {
  readonly prefix: string;

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /** The one that this process was started from; undefined if it was started in another way. */
  static ofThisProcess(environment: NodeJS.ProcessEnv = process.env): Installation | undefined {
    const prefix = environment[prefixVariable];
    return prefix === undefined || prefix === '' ? undefined : new Installation(prefix);
  }

  /** Where the archive with this hash is kept until it is unpacked. */
  partOf(sha256: string): string {
    return join(this.prefix, 'versions', `.${sha256}.part`);
  }

  /** Rejects if an archive and its contents do not fit. */
  async checkSpace({ size, unpackedSize }: AgentArchive): Promise<void> {
    const { bavail, bsize } = await statfs(this.prefix);
    const [free, needed] = [bavail * bsize, size + unpackedSize + spareSpace];
    if (free < needed)
      throw new UpgradeFailure('NoSpace', `${this.prefix} has ${megabytes(free)} free, and the new version needs ${megabytes(needed)}`);
  }

  /** Whether a version is unpacked and complete. */
  async has(version: string): Promise<boolean> {
    return access(join(this.#folder(version), 'bin/capstan'), constants.X_OK).then(
      () => true,
      () => false,
    );
  }

  /** Unpacks an archive beside the other versions, where nothing uses it yet. */
  async unpack(archive: string, version: string, signal: AbortSignal): Promise<void> {
    const fresh = join(this.prefix, 'versions', `.unpacking.${process.pid}`);
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh, { recursive: true });
    try {
      await execute('tar', ['-xzf', archive, '-C', fresh, '--no-same-owner'], { signal });
      // Everything is on the disk before `current` points to it.
      await execute('sync', ['--file-system', fresh]).catch(() => {});
      await rm(this.#folder(version), { recursive: true, force: true });
      await rename(fresh, this.#folder(version));
    } catch (error) {
      await rm(fresh, { recursive: true, force: true });
      const { stderr = '', message } = error as Error & { stderr?: string };
      const words = (stderr === '' ? message : stderr).trim().split('\n').at(-1);
      const isFull = /No space left|ENOSPC/.test(stderr + message);
      throw new UpgradeFailure(isFull ? 'NoSpace' : 'UnpackFailed', `the archive could not be unpacked: ${words}`, { cause: error });
    }
  }

  async deletePart(sha256: string): Promise<void> {
    await rm(this.partOf(sha256), { force: true });
  }

  /** Runs the program of a version: it must start, be the version that it should be, and reach the control plane with the identity of this machine. */
  async check(version: string, stateDirectory: string, signal: AbortSignal): Promise<void> {
    const program = join(this.#folder(version), 'bin/capstan');
    try {
      const { stdout } = await execute(program, ['--version'], { timeout: checkTimeout, signal });
      if (!stdout.includes(version)) throw new Error(`expected the version ${version}, found ${stdout.trim().slice(0, 100)}`);
      await execute(program, ['node-agent', '--self-check', '--state-dir', stateDirectory], { timeout: checkTimeout, signal });
    } catch (error) {
      await rm(this.#folder(version), { recursive: true, force: true });
      const { stderr = '', message } = error as Error & { stderr?: string };
      const words = (stderr === '' ? message : stderr).trim().split('\n').at(-1)?.slice(0, 500);
      throw new UpgradeFailure('SelfCheckFailed', `the version ${version} does not work on this machine: ${words}`, { cause: error });
    }
  }

  /** Makes a version the current one, on trial. The launcher returns to the present one unless the new agent calls `confirm`. */
  async switchTo(version: string, request: string): Promise<void> {
    const present = basename(await readlink(join(this.prefix, 'current')));
    await rm(this.#file('failed'), { force: true });
    await writeAtomically(join(this.prefix, 'request'), `${request}\n`, 0o644);
    await writeAtomically(this.#file('previous'), `${present}\n`, 0o644);
    await writeAtomically(this.#file('trial'), `${version}\n`, 0o644);
    const link = join(this.prefix, '.current.new');
    await rm(link, { force: true });
    await symlink(join('versions', version), link);
    await rename(link, join(this.prefix, 'current'));
  }

  /** This agent works. Deletes versions that are neither the current one nor the one before it. Returns whether it was on trial. */
  async confirm(): Promise<boolean> {
    const wasOnTrial = (await readIfThere(this.#file('trial'))) !== undefined;
    await rm(this.#file('trial'), { force: true });
    if (wasOnTrial) await this.#deleteOld();
    return wasOnTrial;
  }

  /** The version that this one was installed over. */
  async previous(): Promise<string | undefined> {
    return (await readIfThere(this.#file('previous')))?.trim();
  }

  async givenUp(): Promise<GivenUp | undefined> {
    const [version, why = ''] = (await readIfThere(this.#file('failed')))?.trim().split('\n') ?? [];
    const request = (await readIfThere(join(this.prefix, 'request')))?.trim() ?? '';
    return version === undefined ? undefined : { version, why, request };
  }

  async #deleteOld(): Promise<void> {
    const kept = new Set([basename(await readlink(join(this.prefix, 'current'))), await this.previous()]);
    for (const name of await readdir(join(this.prefix, 'versions')))
      if (!kept.has(name)) await rm(join(this.prefix, 'versions', name), { recursive: true, force: true });
  }

  #folder(version: string): string {
    return join(this.prefix, 'versions', version);
  }

  #file(name: keyof typeof files): string {
    return join(this.prefix, files[name]);
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / (1 << 20))} MiB`;
