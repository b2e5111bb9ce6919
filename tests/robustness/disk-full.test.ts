import { execFile, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@capstan/testbed';
import { describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, 'disk-full-run.ts');
const reason = whyNoMount();
if (reason !== undefined) process.stderr.write(`SKIPPED disk full: ${reason}\n`);

describe.skipIf(reason !== undefined)(reason === undefined ? 'on a full disk' : `on a full disk [${reason}]`, () => {
  it('rejects writes, still reads, resumes when space returns, and loses no acknowledged write', async () => {
    using directory = temporaryDirectory('full');
    // Only this process tree sees the mount, which vanishes with it.
    const script = 'mount -t tmpfs -o size=4m none "$1" && exec "$2" "$3" "$1"';
    const { stdout } = await promisify(execFile)('unshare', ['-m', 'sh', '-c', script, 'sh', directory.path, process.execPath, program]);
    expect(JSON.parse(stdout)).toEqual({
      whileFull: {
        code: 'readonly',
        message: expect.stringMatching(/disk that holds .*store\.db is full.*Free some space/),
        failure: 'readonly',
        readable: true,
        listed: true,
      },
      recovered: true,
      written: 20,
      lost: [],
      extra: 0,
      sound: true,
    });
  });
});

function whyNoMount(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux mount namespaces';
  if (process.getuid?.() !== 0) return 'needs root, to mount a small file system';
  const probe = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', tmpdir()]);
  return probe.status === 0 ? undefined : `a file system cannot be mounted: ${probe.error?.message ?? probe.stderr.toString().trim()}`;
}
