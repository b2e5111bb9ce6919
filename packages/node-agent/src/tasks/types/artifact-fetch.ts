import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fileHash } from '../../archive/hash.ts';
import type { ArtifactSource } from '../artifacts.ts';
import { TaskFailure } from '../failure.ts';
import { type TaskType, taskType } from '../task-type.ts';

const execute = promisify(execFile);

/** In a folder that was unpacked: the SHA-256 of the artifact. */
const markerName = '.capstan-artifact';

/** Brings an artifact of the control plane to this node, as a file or unpacked. It appears under its name as a whole, when its hash is right. */
export function artifactFetch(source: ArtifactSource): TaskType {
  return taskType<'artifactFetch'>({
    name: 'artifact.fetch',
    field: 'artifactFetch',
    afterCrash: 'rerun',
    exclusive: 'artifacts',
    async check({ sha256, path, mode, unpack }) {
      if (unpack !== 'none') return (await markerOf(path)) === sha256;
      const found = await lstat(path).catch(() => undefined);
      if (found?.isFile() !== true || (found.mode & 0o7777) !== Number.parseInt(mode, 8)) return false;
      return (await fileHash(path)) === sha256;
    },
    async run({ sha256, path, mode, unpack }, context) {
      if (unpack !== 'none') await checkFolder(path);
      else if ((await lstat(path).catch(() => undefined))?.isDirectory() === true)
        throw new TaskFailure('InvalidParameters', `${path} is a folder`);
      await mkdir(dirname(path), { recursive: true });
      const part = join(dirname(path), `.${sha256}.capstan-part`);
      context.step(`downloading the artifact for ${path}`);
      await source.download(sha256, part, context);
      if (unpack === 'none') {
        await chmod(part, Number.parseInt(mode, 8));
        await rename(part, path);
        return {};
      }
      context.step(`unpacking the artifact in ${path}`);
      await unpackInto(path, { sha256, part, signal: context.signal });
      await rm(part, { force: true });
      return {};
    },
  });
}

/** Whether a folder may be replaced: only if there is none, or it was unpacked by such a task. */
async function checkFolder(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found !== undefined && (await markerOf(path)) === undefined)
    throw new TaskFailure(
      'InvalidParameters',
      `${path} exists and has no file ${markerName}, so it is not replaced; unpack into a folder of its own`,
    );
}

async function unpackInto(
  path: string,
  { sha256, part, signal }: { readonly sha256: string; readonly part: string; readonly signal: AbortSignal },
): Promise<void> {
  const [fresh, old] = [join(dirname(path), `.${sha256}.capstan-new`), join(dirname(path), `.${sha256}.capstan-old`)];
  for (const folder of [fresh, old]) await rm(folder, { recursive: true, force: true });
  try {
    await mkdir(fresh, { mode: 0o755 });
    await execute('tar', ['-xzf', part, '-C', fresh, '--no-same-owner'], { signal });
    await writeFile(join(fresh, markerName), sha256, { flush: true });
    await rename(path, old).catch(ignoreMissing);
    await rename(fresh, path);
  } catch (error) {
    signal.throwIfAborted();
    throw await unpackFailure(error, fresh);
  } finally {
    for (const folder of [fresh, old]) await rm(folder, { recursive: true, force: true });
  }
}

/** In bytes: with less, tar failed because the disk is full. It does not say so in a way that programs can rely on. */
const almostNothing = 64 << 10;

async function unpackFailure(error: unknown, folder: string): Promise<unknown> {
  const { stderr } = error as { readonly stderr?: string };
  if (stderr === undefined) return error;
  const words = stderr.trim().split('\n').slice(0, 3).join('; ').slice(0, 1024);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < almostNothing)
    return new TaskFailure('DiskFull', `there is no room to unpack the artifact: ${words}`, { cause: error });
  return new TaskFailure('CommandFailed', `the artifact could not be unpacked: ${words}`, { cause: error });
}

async function markerOf(path: string): Promise<string | undefined> {
  return readFile(join(path, markerName), 'utf8').catch(() => undefined);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
