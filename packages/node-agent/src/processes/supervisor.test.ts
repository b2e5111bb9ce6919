import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { driverSuite } from '../suite/process-driver.ts';
import { processGroups } from './cgroup.ts';
import { ProcessesRemain } from './driver.ts';
import { processEntry } from './proc.ts';
import { Supervisor } from './supervisor.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-processes-'));
afterAll(() => rmSync(directory, { recursive: true }));

describe('the supervisor without cgroups', () => {
  driverSuite(() => new Supervisor({ directory, groups: undefined }));
});

/** Its signals reach nobody, as with processes that wait for a disk. */
class Powerless extends Supervisor {
  protected override readonly forcedLimit = 100;

  protected override send(): void {}
}

test('kill gives up on processes that SIGKILL does not end, and names them', async () => {
  const options = { directory, groups: undefined };
  await new Supervisor(options).start({ id: 'stuck', command: ['/bin/sh', '-c', 'sleep 600 & sleep 600'], outputLimit: 1000 });
  const killed = new Powerless(options).kill('stuck', 0);
  await expect(killed).rejects.toThrow(ProcessesRemain);
  await expect(killed).rejects.toThrow(/^SIGKILL does not end \d+ \(.+\) in state /);
  expect(await new Supervisor(options).kill('stuck', 0)).toBe('forced');
});

const groups = await processGroups('capstan-test');
describe.skipIf(groups === undefined)('the supervisor with cgroups', () => {
  driverSuite(() => new Supervisor({ directory, groups }));

  test('kill ends processes that have dropped the marker and the session', async () => {
    const supervisor = new Supervisor({ directory, groups });
    await supervisor.start({
      id: 'hiding',
      command: ['/bin/sh', '-c', `env -i setsid sh -c 'echo $$ > ${directory}/hidden; exec sleep 600' & wait`],
      outputLimit: 1000,
    });
    const pid = await until(() => Number(readFileSync(join(directory, 'hidden'), 'utf8')) || undefined);
    await supervisor.kill('hiding', 0);
    expect((await processEntry(pid))?.isZombie ?? true).toBe(true);
  });
});

describe('records', () => {
  const supervisor = new Supervisor({ directory, groups: undefined });
  const record = (id: string, files: Readonly<Record<string, string>>): void => {
    mkdirSync(join(directory, id));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, id, name), text);
  };
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

  test.each([
    ['an agent that ended before the shim began', { spec: '{}', boot }, 'it was about to start when the agent ended'],
    ['a pid that belongs to somebody else now', { spec: '{}', boot, pid: String(process.pid) }, 'it was killed from outside'],
    ['a machine that restarted', { spec: '{}', boot: 'another', pid: String(process.pid) }, 'the machine restarted'],
  ])('%s', async (what, { spec, ...files }, reason) => {
    const id = what.replaceAll(' ', '-').slice(0, 30);
    record(id, { 'spec.json': spec, ...files });
    expect(await supervisor.find(id)).toEqual({ phase: 'lost', reason });
  });
});

async function until<Value>(look: () => Value | undefined): Promise<Value> {
  for (;;) {
    try {
      const value = look();
      if (value !== undefined) return value;
    } catch {
      // Not there yet.
    }
    await sleep(20);
  }
}
