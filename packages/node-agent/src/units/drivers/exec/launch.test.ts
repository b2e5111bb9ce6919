import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launch } from './launch.ts';
import { launcherProgram } from './launcher/launcher.ts';
import { specOf } from './spec.ts';

test('nothing runs if the record of the agent could not be written', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-launch-'));
  const [file, record, mark] = ['launcher.pl', 'record', 'mark'].map((name) => join(directory, name)) as [string, string, string];
  writeFileSync(file, launcherProgram);
  mkdirSync(record);
  const room = {
    id: 'unrecorded',
    allocation: 'unrecorded',
    hostname: 'unit',
    command: ['/usr/bin/touch', mark],
    environment: {},
    mounts: [],
    network: 'None' as const,
    tty: false,
    cpu: 0,
    memory: 0,
    devices: [],
  };
  const groups = { version: 1 as const, folders: new Map<string, string>(), monitors: [] };
  const spec = await specOf(room, { groups, hidden: [], log: { files: 1, bytes: 1000 }, processes: 0, isIsolated: false });
  const attempt = launch({ perl: '/usr/bin/perl', file }, [...spec, ['record', record]], Promise.reject(new Error('the disk is full')));
  await expect(attempt).rejects.toThrow('the disk is full');
  expect(existsSync(mark)).toBe(false);
  rmSync(directory, { recursive: true });
});
