import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, describe, expect, test } from 'vitest';
import { driverSuite } from '../suite/process-driver.ts';
import { serviceSuite } from '../suite/services.ts';
import { chooseDriver } from './choice.ts';
import { processEntry } from './proc.ts';
import { Systemd } from './systemd.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-systemd-'));
afterAll(() => rmSync(directory, { recursive: true }));

const problem = await Systemd.problem();

/** `tests/e2e/systemd` runs this file on a machine of its own, with systemd, wherever that can be made. */
describeUnless(problem, 'systemd', () => {
  driverSuite(() => new Systemd({ directory }));

  const services = join(directory, 'for-services');
  mkdirSync(services);
  serviceSuite({ directory: services, processes: new Systemd({ directory: join(services, 'processes') }) });

  test('kill ends processes that have dropped the marker and the session', async () => {
    const systemd = new Systemd({ directory });
    await systemd.start({
      id: 'hiding',
      command: ['/bin/sh', '-c', `env -i setsid sh -c 'echo $$ > ${directory}/hidden; exec sleep 600' & wait`],
      outputLimit: 1000,
    });
    let pid = 0;
    for (; pid === 0; await sleep(20))
      try {
        pid = Number(readFileSync(join(directory, 'hidden'), 'utf8'));
      } catch {
        // Not there yet.
      }
    await systemd.kill('hiding', 0);
    expect((await processEntry(pid))?.isZombie ?? true).toBe(true);
  });

  test('shows the environment to nobody: not in the properties of the unit, and not in a file that stays', async () => {
    const systemd = new Systemd({ directory });
    const environment = { PASSWORD: 'hunter2' };
    await systemd.start({ id: 'secretive', command: ['/bin/sleep', '600'], environment, outputLimit: 1000 });
    const state = await systemd.find('secretive');
    const pid = state?.phase === 'running' ? state.pid : 0;
    expect(execFileSync('systemctl', ['show', 'capstan-secretive.service'], { encoding: 'utf8' })).not.toContain('hunter2');
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('hunter2');
    while (readdirSync(join(directory, 'secretive')).includes('environment')) await sleep(20);
    await systemd.kill('secretive', 0);
    await systemd.forget('secretive');
  });

  test('is chosen unless somebody wants the supervisor', async () => {
    const options = { stateDirectory: directory, groups: undefined };
    expect((await chooseDriver('auto', options)).name).toBe('systemd');
    expect((await chooseDriver('systemd', options)).name).toBe('systemd');
    expect((await chooseDriver('supervisor', options)).name).toBe('supervisor');
  });
});

describe.skipIf(problem === undefined)('without systemd', () => {
  test('the supervisor is chosen, and systemd refused with the reason', async () => {
    const options = { stateDirectory: directory, groups: undefined };
    expect((await chooseDriver('auto', options)).name).toBe('supervisor');
    await expect(chooseDriver('systemd', options)).rejects.toThrow(problem);
  });
});
