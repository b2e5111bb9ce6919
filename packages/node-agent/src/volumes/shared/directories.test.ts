import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { owner, TestVolumes, volumeOf } from '../../suite/volumes.ts';
import type { Backends } from '../backends/choice.ts';
import { FolderBackend } from '../backends/folder.ts';
import { parseDirectory, SharedDirectories } from './directories.ts';

const folder = new FolderBackend('it is a test');
const backends: Backends = { preferred: folder, of: () => folder };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-shared-'));
  for (const name of ['one', 'two', 'shared', 'other']) mkdirSync(join(directory, name));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const sharing = (path: string, lines: string[] = []): SharedDirectories =>
  new SharedDirectories([{ name: 'scratch', path: join(directory, path) }], (line) => void lines.push(line));

describe('a shared directory', () => {
  test('has the same id for all agents, also if they look at it first at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => sharing('shared').inspect()));
    expect(new Set(all.map(([one]) => one!.id)).size).toBe(1);
    expect(readdirSync(join(directory, 'shared'))).toHaveLength(1);
    expect((await sharing('other').inspect())[0]!.id).not.toBe(all[0]![0]!.id);
  });

  test('that is missing, or has a strange marker, is not reported, and the log says so once', async () => {
    const lines: string[] = [];
    const missing = sharing('missing', lines);
    for (let count = 0; count < 2; count++) expect(await missing.inspect()).toEqual([]);
    symlinkSync('/etc/passwd', join(directory, 'other', '.capstan-shared-directory'));
    expect(await sharing('other', lines).inspect()).toEqual([]);
    expect(lines).toHaveLength(2);
  });

  test('gives out folders only with the right id, and never outside of the folder of the tenant', async () => {
    const directories = sharing('shared');
    const [known] = await directories.inspect();
    const place = (cluster: string, namespace: string, volume: string) => directories.folderOf(known!, { cluster, namespace }, volume);
    expect(await place('tenant', 'default', 'a')).toBe(join(directory, 'shared', 'tenants', 'tenant', 'default', 'a'));
    const hostile: [string, string, string][] = [
      ['..', '..', '..'],
      ['a/../..', '../x', '/etc'],
      ['.', '', 'a\0b'],
    ];
    for (const words of hostile) expect(await place(...words)).toMatch(new RegExp(`^${join(directory, 'shared', 'tenants')}/`));
    expect(readdirSync(join(directory, 'shared'))).not.toContain('etc');
    await expect(directories.folderOf({ name: 'scratch', id: 'wrong' }, owner, 'a')).rejects.toThrow('is not the one that has the storage');
    await expect(directories.folderOf({ name: 'other', id: known!.id }, owner, 'a')).rejects.toThrow('has no shared directory other');
  });

  test.each([
    ['scratch=/mnt/scratch', { name: 'scratch', path: '/mnt/scratch' }],
    ['a=/b=c', { name: 'a', path: '/b=c' }],
    ['local=/mnt', undefined],
    ['scratch=mnt', undefined],
    ['Scratch=/mnt', undefined],
    ['/mnt', undefined],
  ])('is declared as %s', (text, expected) => expect(parseDirectory(text)).toEqual(expected));
});

describe('a volume in a shared directory', () => {
  const start = (node: string, path = 'shared'): Promise<TestVolumes> =>
    TestVolumes.start({
      directory: join(directory, node),
      backends,
      directories: [{ name: 'scratch', path: join(directory, path) }],
    });

  test('is kept by one node, used by all that have it, and deleted', async () => {
    const [known] = await sharing('shared').inspect();
    await sharing('other').inspect();
    await using keeper = await start('one');
    await using user = await start('two');
    await using elsewhere = await start('three', 'other');
    const here = { readOnly: false, directory: known };
    expect(await user.engine.pathOf('a', owner, here)).toBeUndefined();
    const path = await keeper.ready(volumeOf('a', { directory: known! }));
    expect(keeper.last('a')).toMatchObject({ enforced: false, message: expect.stringContaining('does not limit folders') as string });
    writeFileSync(join(path, 'file'), 'content');
    const there = (await user.engine.pathOf('a', owner, here))!;
    expect(readFileSync(join(there, 'file'), 'utf8')).toBe('content');
    expect(await user.engine.pathOf('a', { ...owner, cluster: 'other' }, here)).toBeUndefined();
    expect(await user.engine.pathOf('a', { ...owner, namespace: 'other' }, here)).toBeUndefined();
    expect(await elsewhere.engine.pathOf('a', owner, here)).toBeUndefined();
    keeper.engine.accept(volumeOf('copy', { prepare: { storage: 'a' } }));
    await keeper.becomes('copy', { phase: 'Pending', reason: 'SourceUnavailable' });
    symlinkSync(join(directory, 'other'), join(path, 'link'));
    keeper.engine.accept(volumeOf('a', { directory: known!, deleted: true }));
    await keeper.becomes('a', { phase: 'Deleted' });
    expect(existsSync(path)).toBe(false);
    expect(existsSync(join(directory, 'other'))).toBe(true);
    expect(await user.engine.pathOf('a', owner, here)).toBeUndefined();
  });

  test('has another keeper if the first was lost, and keeps its files', async () => {
    const [known] = await sharing('shared').inspect();
    {
      await using first = await start('one');
      writeFileSync(join(await first.ready(volumeOf('a', { directory: known! })), 'kept'), 'kept');
    }
    await using second = await start('two');
    expect(readFileSync(join(await second.ready(volumeOf('a', { directory: known! })), 'kept'), 'utf8')).toBe('kept');
  });

  test('waits while its directory is not mounted', async () => {
    const [known] = await sharing('shared').inspect();
    rmSync(join(directory, 'shared', '.capstan-shared-directory'));
    await using volumes = await start('one');
    volumes.engine.accept(volumeOf('a', { directory: known! }));
    await volumes.becomes('a', { phase: 'Pending', message: expect.stringContaining('is it mounted?') as string });
    expect(existsSync(join(directory, 'shared', 'tenants'))).toBe(false);
  });
});
