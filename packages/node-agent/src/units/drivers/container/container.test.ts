import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  buildUnitImage,
  deleteStorage,
  freePort,
  output,
  podmanEnvironment,
  startRegistry,
  type TestRegistry,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { type ImagesUnderTest, unitImagesSuite } from '../../../suite/unit-images.ts';
import { unitIsolationSuite } from '../../../suite/unit-isolation.ts';
import { TestRooms } from '../../../suite/unit-rooms.ts';
import { openExecDriver } from '../exec/open.ts';
import { echoServer } from '../exec/testing.ts';
import { identify } from './identify.ts';
import { openContainerDriver } from './open.ts';
import { PodmanService } from './podman/service.ts';

const image = 'localhost/unit:1';

await describeWith(['podman', 'containerd'], 'containers of Podman', ({ podman }) => {
  const directory = temporaryDirectory('container');
  const state = directory.join('state');
  let environment: Record<string, string>;
  let registry: TestRegistry;
  let closedPort: number;
  let service: PodmanService;
  let exec: Awaited<ReturnType<typeof openExecDriver>>;

  beforeAll(async () => {
    await buildUnitImage(image, directory.join('image.tar'));
    await buildUnitImage('other', directory.join('other.tar'), 'in the registry');
    registry = await startRegistry(directory.join('other.tar'));
    closedPort = await freePort();
    environment = podmanEnvironment(directory, [registry.host, `127.0.0.1:${closedPort}`]);
    await output(podman, ['load', '--input', directory.join('image.tar')], { environment });
    service = await PodmanService.start({ podman, directory: state, environment });
    exec = await openExecDriver({ directory: directory.join('exec') });
    writeFileSync(join(state, 'secret'), 'secret', { mode: 0o644 });
  }, 120_000);
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await registry[Symbol.asyncDispose]();
    deleteStorage(directory);
  });

  const options = { directory: state, log: { files: 2, bytes: 65_536 }, processes: 200 };
  const tested: ImagesUnderTest = {
    renew: async () => {
      // One test ends the service, which is then started again.
      while ((await identify(service.socketPath)) === undefined) await sleep(20);
      return openContainerDriver({ ...options, sockets: [service.socketPath], exec });
    },
    base: { image },
    echoServer,
    state,
    user: 'root',
    directory,
    socket: () => service.socketPath,
    options,
    image,
    registry: () => registry,
    closedPort: () => closedPort,
    containers: () => output(podman, ['ps', '--all', '--format', '{{.Names}}'], { environment }),
  };
  unitDriverSuite(tested);
  unitIsolationSuite(tested);
  unitImagesSuite(tested);

  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());
  test('the API can end and start again: the unit runs on, ends, and is stopped without it', async () => {
    const driver = await tested.renew();
    const [first, second] = [await rooms.start(rooms.shell('echo ready; read line; exit 5')), await rooms.start(rooms.shell('sleep 600'))];
    await rooms.untilPrinted(first, 'ready');
    process.kill(service.pid!, 'SIGKILL');
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
    const programs = directory.join('programs');
    mkdirSync(programs);
    writeFileSync(join(programs, 'podman'), `#!/bin/sh\nexec ${podman} "$@"\n`, { mode: 0o755 });
    const own = { directory: directory.join('own'), sockets: [], programs: [programs], environment, exec };
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
