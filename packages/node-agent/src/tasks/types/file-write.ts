import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { taskType } from '../task-type.ts';

const run = promisify(execFile);

/** Replaces a file as a whole: readers see the old content or the new one. */
export const fileWrite = taskType<'fileWrite'>({
  name: 'file.write',
  field: 'fileWrite',
  afterCrash: 'rerun',
  async check({ path, content, mode, owner }, { reveal }) {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || (found.mode & 0o7777) !== Number.parseInt(mode, 8)) return false;
    if (owner !== undefined && (await ownerOf(path)) !== normalOwner(owner)) return false;
    return (await readFile(path, 'utf8').catch(() => undefined)) === (await reveal(content));
  },
  async run({ path, content, mode, owner }, { step, reveal }) {
    const revealed = await reveal(content);
    step(`writing ${path}`);
    const folder = dirname(path);
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const fresh = join(folder, `.${randomUUID()}.capstan`);
    try {
      const handle = await open(fresh, 'wx', 0o600);
      try {
        await handle.writeFile(revealed);
        await handle.sync();
      } finally {
        await handle.close();
      }
      if (owner !== undefined) await run('chown', [normalOwner(owner), fresh]);
      await chmod(fresh, Number.parseInt(mode, 8));
      await rename(fresh, path);
    } catch (error) {
      await rm(fresh, { force: true });
      throw error;
    }
    return {};
  },
});

const normalOwner = (owner: string): string => (owner.includes(':') ? owner : `${owner}:${owner}`);

async function ownerOf(path: string): Promise<string> {
  return (await run('stat', ['--format=%U:%G', path])).stdout.trim();
}
