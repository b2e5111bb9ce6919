import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestVolumes, volumeOf } from '../../suite/volumes.ts';
import { UnitProblem } from '../../units/drivers/driver.ts';
import type { Backends } from '../backends/choice.ts';
import { FolderBackend } from '../backends/folder.ts';
import type { ImageSource } from './prepare.ts';

const folder = new FolderBackend('it is a test');
const folderOnly: Backends = { preferred: folder, of: () => folder };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-image-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('a volume that is prepared from an image', () => {
  const image = { prepare: { image: 'example.com/files:1' } };
  const start = (images?: ImageSource): Promise<TestVolumes> =>
    TestVolumes.start({ directory: join(directory, 'storages'), backends: folderOnly, ...(images && { images }) });
  const archiveOf = (...words: string[]): Readable => Readable.from([execFileSync('tar', ['-c', '-f', '-', '-C', directory, ...words])]);

  test('has its files', async () => {
    writeFileSync(join(directory, 'greeting'), 'hello');
    await using volumes = await start(async (name, use) => {
      expect(name).toBe('example.com/files:1');
      return use(archiveOf('greeting'));
    });
    expect(readFileSync(join(await volumes.ready(volumeOf('a', image)), 'greeting'), 'utf8')).toBe('hello');
  });

  test('fails without an engine, with an image that does not exist, or whose links lead out of it', async () => {
    await using bare = await start();
    bare.engine.accept(volumeOf('a', image));
    await bare.becomes('a', { phase: 'Failed', reason: 'ImageUnavailable' });
    symlinkSync('/etc', join(directory, 'out'));
    let archive: (() => Readable) | undefined;
    const answer: ImageSource = async (_, use) => {
      if (archive === undefined) throw new UnitProblem('ImageMissing', 'there is no such image', { isFinal: true });
      return use(archive());
    };
    await using volumes = await start(answer);
    volumes.engine.accept(volumeOf('b', image));
    await volumes.becomes('b', { phase: 'Failed', reason: 'ImageUnavailable', message: 'there is no such image', recoverable: true });
    archive = () => archiveOf('out');
    volumes.engine.accept(volumeOf('c', image));
    await volumes.becomes('c', { phase: 'Failed', reason: 'UnpackFailed' });
  });
});
