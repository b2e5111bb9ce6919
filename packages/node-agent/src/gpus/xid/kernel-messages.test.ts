import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixture } from '../testing.ts';
import { KernelMessages } from './kernel-messages.ts';

test('KernelMessages reads each Xid once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'capstan-kmsg-'));
  try {
    const path = join(folder, 'kmsg');
    await writeFile(path, fixture('nvidia-h200-loaded/kmsg.txt'));
    await using messages = new KernelMessages({ path, bootedAt: () => 0, now: () => 0 });
    expect((await messages.read()).map(({ code }) => code)).toEqual([31]);
    expect(await messages.read()).toEqual([]);
    await appendFile(path, '4,361,59105995,c;NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off the bus.\n');
    expect(await messages.read()).toMatchObject([{ code: 79, at: 59_106 }]);
    await using absent = new KernelMessages({ path: join(folder, 'none'), bootedAt: () => 0, now: () => 0 });
    await expect(absent.read()).rejects.toThrow('ENOENT');
  } finally {
    await rm(folder, { recursive: true });
  }
});
