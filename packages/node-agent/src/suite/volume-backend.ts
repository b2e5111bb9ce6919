import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Backends } from '../volumes/backends/choice.ts';
import { owner, TestVolumes, volumeOf } from './volumes.ts';

const mebibyte = 2 ** 20;
/** ext4 says that a quota is exceeded, others that the disk is full. */
const full = /No space left on device|Disk quota exceeded/;
const isMounted = (directory: string): boolean => readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${directory}/storages`);
/** As a program without special rights, which could exceed quotas. */
function fill(file: string, bytes: number): void {
  const script = 'head -c "$1" /dev/zero > "$2"';
  const words = ['--bounding-set=-sys_resource', 'sh', '-c', script, 'fill', String(bytes), file];
  execFileSync('setpriv', words, { stdio: 'pipe', env: { ...process.env, LC_ALL: 'C' } });
}

/** What every backend does. `place` is an empty directory for each test. */
export function volumeBackendSuite(backends: Backends, place: () => string): void {
  const start = (more = {}): Promise<TestVolumes> => TestVolumes.start({ directory: join(place(), 'storages'), backends, ...more });

  test('is created empty, keeps its files over restarts of the agent, and is deleted', async () => {
    {
      await using volumes = await start();
      const path = await volumes.ready(volumeOf('a'));
      writeFileSync(join(path, 'kept'), 'kept');
      expect(statSync(path).mode & 0o777).toBe(0o755);
    }
    await using volumes = await start();
    // Without the control plane: the records say enough.
    await volumes.becomes('a', { phase: 'Ready' });
    expect(readFileSync(join((await volumes.engine.pathOf('a', owner, { readOnly: true }))!, 'kept'), 'utf8')).toBe('kept');
    volumes.engine.accept(volumeOf('a', { deleted: true }));
    await volumes.becomes('a', { phase: 'Deleted' });
    expect(existsSync(join(place(), 'storages', 'a'))).toBe(false);
    expect(isMounted(place())).toBe(false);
  });

  test('has no path for other tenants', async () => {
    await using volumes = await start();
    expect(await volumes.ready(volumeOf('a'))).toBeDefined();
    expect(await volumes.engine.pathOf('a', { ...owner, cluster: 'other' }, { readOnly: true })).toBeUndefined();
    expect(await volumes.engine.pathOf('a', { ...owner, namespace: 'other' }, { readOnly: true })).toBeUndefined();
  });

  test('keeps its files if its object disappears, or belongs to another owner', async () => {
    await using volumes = await start();
    const path = await volumes.ready(volumeOf('a'));
    writeFileSync(join(path, 'kept'), 'kept');
    volumes.engine.forget('a');
    for (const deleted of [false, true]) {
      const stranger = { ...volumeOf('a', { owner: { ...owner, cluster: 'other', name: 'a' }, deleted }) };
      volumes.engine.accept(stranger);
      await volumes.becomes('a', { phase: 'Failed', message: 'the node has files of another owner under this name' });
    }
    expect(existsSync(join(path, 'kept'))).toBe(true);
  });

  test('is deleted only when no unit uses it', async () => {
    let isInUse = true;
    await using volumes = await start({ isInUse: () => isInUse });
    const path = await volumes.ready(volumeOf('a'));
    volumes.engine.accept(volumeOf('a', { deleted: true }));
    await volumes.becomes('a', { phase: 'Ready', reason: 'InUse' });
    expect(existsSync(path)).toBe(true);
    expect(await volumes.engine.pathOf('a', owner, { readOnly: true })).toBeUndefined();
    isInUse = false;
    await volumes.becomes('a', { phase: 'Deleted' });
  });

  test('takes over what an agent has left that was killed while it prepared', async () => {
    const folder = join(place(), 'storages', 'a');
    mkdirSync(folder, { recursive: true });
    for (const file of ['image.new', 'record.json.new']) writeFileSync(join(folder, file), 'half');
    await using volumes = await start();
    const path = await volumes.ready(volumeOf('a'));
    mkdirSync(join(path, '..', 'data.new'));
    writeFileSync(join(path, '..', 'download'), 'half');
    rmSync(path, { recursive: true });
    const record = join(folder, 'record.json');
    writeFileSync(record, readFileSync(record, 'utf8').replace('"prepared":true', '"prepared":false'));
    await using again = await start();
    await again.becomes('a', { phase: 'Ready' });
    expect(existsSync(join(path, '..', 'data.new'))).toBe(false);
    expect(existsSync(join(path, '..', 'download'))).toBe(false);
  });

  test('whose files were lost is not taken for a new one', async () => {
    {
      await using volumes = await start();
      rmSync(await volumes.ready(volumeOf('a')), { recursive: true });
    }
    await using volumes = await start();
    await volumes.becomes('a', { phase: 'Failed', reason: 'FileSystemDamaged', recoverable: true });
    const again = volumeOf('a', { recover: 1 });
    await volumes.ready({ ...again, metadata: { ...again.metadata, generation: 2 } });
  });

  test('is a snapshot that never changes, outlives its source, and can be copied while it is read', async () => {
    let isInUse = false;
    await using volumes = await start({ isInUse: () => isInUse });
    const source = await volumes.ready(volumeOf('source'));
    writeFileSync(join(source, 'file'), 'before');
    const snapshot = await volumes.ready(volumeOf('snapshot', { snapshotOf: 'source' }));
    const { takenAt } = volumes.last('snapshot')!;
    expect(Date.parse(takenAt!)).toBeGreaterThan(0);
    writeFileSync(join(source, 'file'), 'after');
    expect(readFileSync(join(snapshot, 'file'), 'utf8')).toBe('before');
    expect(await volumes.engine.pathOf('snapshot', owner, { readOnly: false })).toBeUndefined();
    volumes.engine.accept(volumeOf('source', { deleted: true }));
    await volumes.becomes('source', { phase: 'Deleted' });
    isInUse = true;
    const restored = await volumes.ready(volumeOf('restored', { prepare: { storage: 'snapshot' } }));
    expect(readFileSync(join(restored, 'file'), 'utf8')).toBe('before');
    expect(volumes.last('snapshot')).toMatchObject({ phase: 'Ready', takenAt });
    isInUse = false;
    volumes.engine.accept(volumeOf('snapshot', { snapshotOf: 'source', deleted: true }));
    await volumes.becomes('snapshot', { phase: 'Deleted' });
    expect(existsSync(join(place(), 'storages', 'snapshot'))).toBe(false);
  });

  test('whose files were lost is not taken again if it is a snapshot, nor taken of the volume of another tenant', async () => {
    {
      await using volumes = await start();
      await volumes.ready(volumeOf('source'));
      await volumes.ready(volumeOf('snapshot', { snapshotOf: 'source' }));
      volumes.engine.accept(volumeOf('theft', { owner: { ...owner, cluster: 'other', name: 'theft' }, snapshotOf: 'source' }));
      await volumes.becomes('theft', { phase: 'Pending', reason: 'SourceUnavailable' });
    }
    const folder = join(place(), 'storages', 'snapshot');
    if (existsSync(join(folder, 'mount'))) execFileSync('umount', [join(folder, 'mount')]);
    for (const name of ['image', 'files']) rmSync(join(folder, name), { recursive: true, force: true });
    await using volumes = await start();
    await volumes.becomes('snapshot', { phase: 'Failed', reason: 'FileSystemDamaged' });
    const again = volumeOf('snapshot', { snapshotOf: 'source', recover: 1 });
    volumes.engine.accept({ ...again, metadata: { ...again.metadata, generation: 2 } });
    await volumes.becomes('snapshot', { phase: 'Failed', observedGeneration: 2 });
  });

  test('is a copy of another one of its owner, made while nobody uses that', async () => {
    let isInUse = true;
    await using volumes = await start({ isInUse: (name: string) => name === 'source' && isInUse });
    const source = await volumes.ready(volumeOf('source'));
    writeFileSync(join(source, 'file'), 'content');
    volumes.engine.accept(volumeOf('copy', { prepare: { storage: 'source' } }));
    await volumes.becomes('copy', { phase: 'Pending', reason: 'SourceInUse' });
    isInUse = false;
    await volumes.becomes('copy', { phase: 'Ready' });
    const copy = (await volumes.engine.pathOf('copy', owner, { readOnly: true }))!;
    expect(readFileSync(join(copy, 'file'), 'utf8')).toBe('content');
    volumes.engine.accept(volumeOf('theft', { owner: { ...owner, cluster: 'other', name: 'theft' }, prepare: { storage: 'source' } }));
    await volumes.becomes('theft', { phase: 'Pending', reason: 'SourceUnavailable' });
  });
}

/** What backends do that limit volumes. */
export function volumeLimitSuite(backends: Backends, place: () => string): void {
  const start = (): Promise<TestVolumes> => TestVolumes.start({ directory: join(place(), 'storages'), backends });

  test('has a size that no program can exceed, and grows while it is used', async () => {
    await using volumes = await start();
    const path = await volumes.ready(volumeOf('a'));
    const { capacityBytes = 0 } = volumes.last('a')!;
    expect(capacityBytes).toBeGreaterThan(20 * mebibyte);
    expect(capacityBytes).toBeLessThanOrEqual(32 * mebibyte);
    expect(() => fill(join(path, 'large'), 33 * mebibyte)).toThrow(full);
    rmSync(join(path, 'large'));
    const larger = volumeOf('a', { size: 64 * mebibyte });
    await volumes.ready({ ...larger, metadata: { ...larger.metadata, generation: 2 } });
    fill(join(path, 'large'), 40 * mebibyte);
    await volumes.becomes('a', { enforced: true });
    await expect.poll(() => volumes.last('a')!.usedBytes).toBeGreaterThanOrEqual(40 * mebibyte);
    expect(() => fill(join(path, 'more'), 40 * mebibyte)).toThrow(full);
  });

  test('is not taken as a snapshot that is larger than its size', async () => {
    await using volumes = await start();
    fill(join(await volumes.ready(volumeOf('source', { size: 64 * mebibyte })), 'large'), 24 * mebibyte);
    volumes.engine.accept(volumeOf('snapshot', { snapshotOf: 'source', size: 16 * mebibyte }));
    await volumes.becomes('snapshot', { phase: 'Failed', reason: 'DiskFull', recoverable: true });
    const larger = volumeOf('snapshot', { snapshotOf: 'source', recover: 1 });
    await volumes.ready({ ...larger, metadata: { ...larger.metadata, generation: 2 } });
    const used = execFileSync('du', ['-sx', '--block-size=1', join(place(), 'storages', 'snapshot')], { encoding: 'utf8' });
    expect(Number.parseInt(used, 10)).toBeLessThan(32 * mebibyte);
  });

  test('that is to be filled from one that is larger fails and says so', async () => {
    await using volumes = await start();
    fill(join(await volumes.ready(volumeOf('source', { size: 64 * mebibyte })), 'large'), 40 * mebibyte);
    volumes.engine.accept(volumeOf('copy', { prepare: { storage: 'source' } }));
    await volumes.becomes('copy', { phase: 'Failed', reason: 'DiskFull', recoverable: true });
    expect(await volumes.engine.pathOf('copy', owner, { readOnly: true })).toBeUndefined();
  });
}
