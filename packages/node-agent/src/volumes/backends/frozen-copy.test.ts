import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import { expect, test } from 'vitest';
import { TestVolumes, volumeOf } from '../../suite/volumes.ts';
import { type Backends, whyNoLoop } from './choice.ts';
import { LoopBackend } from './loop.ts';

describeUnless((await whyNoLoop()) ?? whyAtOnce(), 'a snapshot that takes longer than programs may wait', () => {
  test('is taken when no unit uses the storage, which works meanwhile', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'capstan-frozen-'));
    const loop = new LoopBackend({ spare: () => 0, longestFreeze: 0.0001 });
    const backends: Backends = { preferred: loop, of: () => loop };
    let isInUse = true;
    try {
      await using volumes = await TestVolumes.start({ directory, backends, isInUse: (name) => name === 'source' && isInUse });
      const source = await volumes.ready(volumeOf('source'));
      writeFileSync(join(source, 'file'), 'before');
      volumes.engine.accept(volumeOf('snapshot', { snapshotOf: 'source' }));
      await volumes.becomes('snapshot', { phase: 'Pending', reason: 'SourceInUse' });
      // Only a frozen file system can be thawed.
      expect(() => execFileSync('fsfreeze', ['--unfreeze', join(directory, 'source', 'mount')], { stdio: 'ignore' })).toThrow();
      isInUse = false;
      const snapshot = await volumes.ready(volumeOf('snapshot', { snapshotOf: 'source' }));
      expect(readFileSync(join(snapshot, 'file'), 'utf8')).toBe('before');
    } finally {
      for (const name of ['snapshot', 'source']) execFileSync('umount', [join(directory, name, 'mount')]);
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

/** Why every copy is made at once here. */
function whyAtOnce(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-reflink-'));
  try {
    writeFileSync(join(directory, 'one'), Buffer.alloc(8192, 1));
    execFileSync('cp', ['--reflink=always', join(directory, 'one'), join(directory, 'two')], { stdio: 'ignore' });
    return 'the file system of temporary files shares blocks';
  } catch {
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
