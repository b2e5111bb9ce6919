import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { volumeBackendSuite, volumeLimitSuite } from '../../suite/volume-backend.ts';
import { TestVolumes, volumeOf } from '../../suite/volumes.ts';
import { type Backends, chooseBackends, limitsOf } from './choice.ts';
import { filesIn } from './folder.ts';
import { ProjectBackend } from './project.ts';
import { findProjectQuota, type ProjectQuota } from './project-quota.ts';

const mebibyte = 2 ** 20;
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-project-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Remembers what it is told, and counts files instead. */
class CountingQuota implements ProjectQuota {
  readonly limits = new Map<number, number>();
  readonly projects = new Map<string, number>();

  async assign(folder: string, project: number): Promise<void> {
    this.projects.set(folder, project);
  }

  async limit(project: number, bytes: number): Promise<void> {
    if (bytes === 0) this.limits.delete(project);
    else this.limits.set(project, bytes);
  }

  async usage(folder: string): Promise<{ capacityBytes: number; usedBytes: number }> {
    const used = execFileSync('du', ['-s', '--block-size=1', folder], { encoding: 'utf8' });
    return { capacityBytes: 0, usedBytes: Number.parseInt(used, 10) };
  }
}

const only = (backend: ProjectBackend): Backends => ({ preferred: backend, of: (name) => (name === 'project' ? backend : undefined) });
const idOf = (name: string): number =>
  (JSON.parse(readFileSync(join(directory, 'storages', name, 'project.json'), 'utf8')) as { id: number }).id;

describe('a volume with a project', () => {
  volumeBackendSuite(only(new ProjectBackend({ spare: () => 0, quota: new CountingQuota() })), () => directory);

  const start = (quota: ProjectQuota, spare = (): number => 0): Promise<TestVolumes> =>
    TestVolumes.start({ directory: join(directory, 'storages'), backends: only(new ProjectBackend({ spare, quota })) });

  test('has a number of its own, a limit that grows with it, and neither once it is deleted', async () => {
    const quota = new CountingQuota();
    await using volumes = await start(quota);
    await volumes.ready(volumeOf('a'));
    await volumes.ready(volumeOf('b'));
    expect(idOf('a')).not.toBe(idOf('b'));
    expect(quota.projects.get(`${filesIn(join(directory, 'storages', 'a'))}.new`)).toBe(idOf('a'));
    expect(quota.limits.get(idOf('a'))).toBe(32 * mebibyte);
    expect(volumes.last('a')).toMatchObject({ enforced: true });
    const larger = volumeOf('a', { size: 64 * mebibyte });
    await volumes.ready({ ...larger, metadata: { ...larger.metadata, generation: 2 } });
    expect(quota.limits.get(idOf('a'))).toBe(64 * mebibyte);
    volumes.engine.accept(volumeOf('a', { deleted: true }));
    await volumes.becomes('a', { phase: 'Deleted' });
    expect([...quota.limits.keys()]).toEqual([idOf('b')]);
  });

  test('gets its limit again from the next agent, with the size that it had', async () => {
    {
      await using volumes = await start(new CountingQuota());
      const larger = volumeOf('a', { size: 64 * mebibyte });
      await volumes.ready(larger);
    }
    const quota = new CountingQuota();
    await using volumes = await start(quota);
    await volumes.becomes('a', { phase: 'Ready' });
    expect([...quota.limits]).toEqual([[idOf('a'), 64 * mebibyte]]);
  });

  test('waits while the other volumes may still need the space', async () => {
    const quota = new CountingQuota();
    // Others use the disk, too.
    const allBut = (left: number): number => {
      const { bavail, bsize } = statfsSync(directory);
      return bavail * bsize - left;
    };
    await using volumes = await start(quota, () => allBut(48 * mebibyte));
    await volumes.ready(volumeOf('a'));
    volumes.engine.accept(volumeOf('b'));
    await volumes.becomes('b', { phase: 'Pending', reason: 'DiskFull' });
    expect(volumes.last('b')!.message).toMatch(/^needs 32 MiB, and the disk of the node has \d+ MiB left for volumes$/);
    expect(quota.limits.size).toBe(1);
  });

  test('is taken as a snapshot with a limit of its own, while no unit uses it', async () => {
    const quota = new CountingQuota();
    await using volumes = await start(quota);
    writeFileSync(join(await volumes.ready(volumeOf('source')), 'file'), 'content');
    await volumes.ready(volumeOf('snapshot', { snapshotOf: 'source', size: 16 * mebibyte }));
    expect(quota.limits.get(idOf('snapshot'))).toBe(16 * mebibyte);
  });
});

describeUnless(process.getuid?.() === 0 && process.platform === 'linux' ? undefined : 'it is not root on Linux', 'an agent', () => {
  test('uses project quotas if there are some, and otherwise says why not', async () => {
    const options = { directory: join(directory, 'storages'), spare: () => 0 };
    const with_ = await chooseBackends({ ...options, findQuota: async () => new CountingQuota() });
    expect(limitsOf(with_)).toEqual({ kind: 'ProjectQuotas' });
    const without = await chooseBackends({ ...options, findQuota: async () => 'it is a test' });
    expect(without.preferred.name).not.toBe('project');
    expect(limitsOf(without).why).toContain('it is a test');
    expect(without.of('project')).toBeUndefined();
  });

  test('that has lost its project quotas keeps the files, and says why it cannot use them', async () => {
    const at = join(directory, 'storages');
    {
      await using volumes = await TestVolumes.start({
        directory: at,
        backends: await chooseBackends({ directory: at, spare: () => 0, findQuota: async () => new CountingQuota() }),
      });
      writeFileSync(join(await volumes.ready(volumeOf('a')), 'kept'), 'kept');
    }
    const backends = await chooseBackends({ directory: at, spare: () => 0, findQuota: async () => 'it is mounted without prjquota' });
    await using volumes = await TestVolumes.start({ directory: at, backends });
    await volumes.becomes('a', { phase: 'Pending', reason: 'NodeProblem' });
    expect(volumes.last('a')!.message).toContain('which this agent cannot use: it is mounted without prjquota');
    expect(existsSync(join(at, 'a', 'files', 'data', 'kept'))).toBe(true);
  });
});

/** A disk with project quotas, in a file. */
function mountDisk(place: string, make: readonly string[]): string {
  const [image, point] = [join(place, 'disk'), join(place, 'mounted')];
  mkdirSync(point, { recursive: true });
  execFileSync('truncate', ['-s', '512M', image]);
  execFileSync(make[0]!, [...make.slice(1), image], { stdio: 'pipe' });
  execFileSync('mount', ['-o', 'loop,prjquota', image, point], { stdio: 'pipe' });
  return point;
}

const disks = {
  ext4: ['mkfs.ext4', '-q', '-F', '-O', 'quota,project', '-E', 'quotatype=prjquota'],
  XFS: ['mkfs.xfs', '-q', '-f'],
};

/** Why this machine has no such disk. */
async function whyNoDisk(make: readonly string[]): Promise<string | undefined> {
  const place = mkdtempSync(join(tmpdir(), 'capstan-project-probe-'));
  try {
    const point = mountDisk(place, make);
    const quota = await findProjectQuota(point);
    execFileSync('umount', [point]);
    return typeof quota === 'string' ? quota : undefined;
  } catch (error) {
    const { stderr } = error as { readonly stderr?: Buffer };
    return `a disk with project quotas cannot be mounted: ${(stderr?.toString() || (error as Error).message).trim().split('\n')[0]}`;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

for (const [name, make] of Object.entries(disks))
  describeUnless(await whyNoDisk(make), `a volume with a project quota of ${name}`, () => {
    const place = mkdtempSync(join(tmpdir(), 'capstan-project-disk-'));
    let point: string;
    let backends: Backends;
    let count = 0;
    beforeAll(async () => {
      point = mountDisk(place, make);
      const quota = await findProjectQuota(point);
      if (typeof quota === 'string') throw new Error(quota);
      backends = only(new ProjectBackend({ spare: () => 0, quota }));
    });
    afterAll(() => {
      execFileSync('umount', [point]);
      rmSync(place, { recursive: true });
    });
    beforeEach(() => mkdirSync(join(point, String(++count))));
    const own = (): string => join(point, String(count));
    const late: Backends = {
      get preferred() {
        return backends.preferred;
      },
      of: (one) => backends.of(one),
    };
    volumeBackendSuite(late, own);
    volumeLimitSuite(late, own);
  });
