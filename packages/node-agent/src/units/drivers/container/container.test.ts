import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterEach, expect, test } from 'vitest';
import { podmanMachine } from '../../../suite/podman-machine.ts';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { TestRooms } from '../../../suite/unit-rooms.ts';
import { openContainerDriver } from './open.ts';

/** `isolation.test.ts` and `images.test.ts` run the other suites: together they take minutes. */
await describeWith(['podman', 'containerd'], 'containers of Podman', ({ podman }) => {
  const tested = podmanMachine(podman);
  unitDriverSuite(tested);

  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());
  test('the API can end and start again: the unit runs on, ends, and is stopped without it', async () => {
    const driver = await tested.renew();
    const [first, second] = [await rooms.start(rooms.shell('echo ready; read line; exit 5')), await rooms.start(rooms.shell('sleep 600'))];
    await rooms.untilPrinted(first, 'ready');
    process.kill(tested.service().pid!, 'SIGKILL');
    expect(await driver.find(first.id, 0)).toMatchObject({ phase: 'running' });
    await driver.stop(second.id, 50);
    expect(await rooms.ended(second)).toMatchObject({ phase: 'exited', code: 137 });
    expect(await driver.find(first.id, 0)).toMatchObject({ phase: 'running' });
    const again = await driver.attach(first.id, { stdin: true });
    again.stdin!.write('word\n');
    expect(await rooms.ended(first)).toMatchObject({ code: 5 });
    again.close();
  });

  test('an installed Podman is started, also after an agent that was killed', async () => {
    const programs = tested.directory.join('programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'podman'), `#!/bin/sh\nexec ${podman} "$@"\n`, { mode: 0o755 });
    const own = {
      directory: tested.directory.join('own'),
      sockets: [],
      programs: [programs],
      environment: tested.environment(),
      exec: tested.exec(),
    };
    const agent = `
import { openContainerDriver } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))};
      const { isolation, why } = await openContainerDriver(${JSON.stringify(own)});
      console.log(isolation ?? why);
      setInterval(() => {}, 1000);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', agent], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [printed] = await once(child.stdout, 'data');
    expect(String(printed)).toBe('full\n');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const before = Number(readFileSync(join(own.directory, 'service.pid'), 'utf8'));
    await using second = await openContainerDriver(own);
    expect(second).toMatchObject({ isolation: 'full' });
    expect(Number(readFileSync(join(own.directory, 'service.pid'), 'utf8'))).not.toBe(before);
    const commandOf = (pid: number): string => (existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '');
    expect(commandOf(before)).toBe('');
  });
});

test('a machine without an engine says what to install', async () => {
  using directory = temporaryDirectory('container');
  const driver = await openContainerDriver({ directory: directory.path, sockets: [directory.join('none.sock')], programs: [] });
  expect(driver.isolation).toBeUndefined();
  expect(driver.why).toContain('apt-get install podman');
  await expect(driver.list()).resolves.toEqual([]);
});
