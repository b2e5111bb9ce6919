import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  buildUnitImage,
  deleteStorage,
  freePort,
  NetworkNamespace,
  output,
  podmanEnvironment,
  startRegistry,
  type TestRegistry,
  temporaryDirectory,
  tool,
} from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { allocationMarker, processesMarked } from '../../../processes/proc.ts';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { unitIsolationSuite } from '../../../suite/unit-isolation.ts';
import { TestRooms } from '../../../suite/unit-rooms.ts';
import { readTar } from '../../uploads/tar.ts';
import type { UnitRoom } from '../driver.ts';
import { openExecDriver } from '../exec/open.ts';
import { echoServer, programFolder } from '../exec/testing.ts';
import { identify } from './identify.ts';
import { openContainerDriver } from './open.ts';
import { PodmanService } from './service.ts';

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
  const tested = {
    renew: async () => {
      // One test ends the service, which is then started again.
      while ((await identify(service.socketPath)) === undefined) await sleep(20);
      return openContainerDriver({ ...options, sockets: [service.socketPath], exec });
    },
    base: { image },
    echoServer,
    state,
    user: 'root' as const,
  };
  unitDriverSuite(tested);
  unitIsolationSuite(tested);

  test('the files of an image can be read without running it', async () => {
    const driver = await tested.renew();
    const names: string[] = [];
    const read = async (archive: Readable): Promise<void> => {
      for await (const { path } of readTar(archive)) names.push(path);
    };
    await driver.imageFiles(image, read, AbortSignal.timeout(20_000));
    expect(names).toContain('bin/busybox');
    await expect(driver.imageFiles('localhost/none:1', read, AbortSignal.timeout(20_000))).rejects.toMatchObject({
      reason: 'ImageMissing',
    });
    expect(await output(podman, ['ps', '--all', '--format', '{{.Names}}'], { environment })).not.toContain('capstan-files');
  });

  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());
  const pull = async (name: string, more: Partial<UnitRoom> = {}): Promise<string[]> => {
    const steps: string[] = [];
    const room = rooms.room([], { image: name, ...more });
    await (await tested.renew()).prepare(room, { onStep: (step) => steps.push(step), signal: AbortSignal.timeout(20_000) });
    return steps;
  };

  describe('an image', () => {
    test('says what to run, and gets the arguments of the unit', async () => {
      expect((await rooms.run(rooms.room([]))).stdout).toBe('from the image\n');
      expect((await rooms.run(rooms.room([], { args: ['/bin/echo', 'from', 'the unit'] }))).stdout).toBe('from the unit\n');
    });

    test('is pulled once, with its progress', async () => {
      const name = `${registry.host}/unit:1`;
      const steps = await pull(name);
      expect(steps[0]).toBe(`pulls image ${name}`);
      expect(steps.at(-1)).toBe(`pulls image ${name} 100 %`);
      expect(await pull(name)).toEqual([]);
      expect((await rooms.run(rooms.room([], { image: name }))).stdout).toBe('from the image\n');
    });

    test('is pulled with the credentials of the unit, and not without', async () => {
      const name = `${registry.host}/secret/unit:1`;
      await expect(pull(name)).rejects.toMatchObject({ name: 'UnitProblem', reason: 'RegistryRefused', isFinal: true });
      const wrong = { auths: { [registry.host]: { username: 'user', password: 'guess' } } };
      await expect(pull(name, { pullConfig: JSON.stringify(wrong) })).rejects.toMatchObject({ reason: 'RegistryRefused', isFinal: true });
      const pullConfig = JSON.stringify({ auths: { [registry.host]: { auth: Buffer.from('user:word').toString('base64') } } });
      expect(await pull(name, { pullConfig })).not.toEqual([]);
    });

    test.each([
      ['that does not exist is missing', () => `${registry.host}/unit:2`, { reason: 'ImageMissing', isFinal: true }],
      ['of an unknown repository is missing', () => `${registry.host}/other:1`, { reason: 'ImageMissing', isFinal: true }],
      ['of this machine is never pulled', () => 'localhost/other:1', { reason: 'ImageMissing', isFinal: true }],
      [
        'of a registry that is down is tried again',
        () => `127.0.0.1:${closedPort}/unit:1`,
        { reason: 'RegistryUnavailable', isFinal: false },
      ],
    ])('%s', async (_what, name, problem) => {
      await expect(pull(name())).rejects.toMatchObject({ name: 'UnitProblem', ...problem });
    });
  });

  test('a unit with a network of its own reaches neither the node nor other units', async () => {
    const nft = await tool('nft');
    const problem = 'missing' in nft ? nft.missing : await NetworkNamespace.problem();
    if (problem !== undefined) return console.warn(`skipped: ${problem}`);
    await using node = await NetworkNamespace.create(['198.51.100.2']);
    const [program, ...args] = node.command(...echoServer(7001, 'INADDR_ANY'));
    const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(server.stdout, 'data');
    try {
      const programs = programFolder(directory.join('network'), { nft: (nft as { path: string }).path });
      const harness = join(import.meta.dirname, 'network-harness.ts');
      const places = [directory.join('isolated'), service.socketPath, `${programs}:/usr/sbin:/sbin:/usr/bin:/bin`, image];
      const [first, ...rest] = node.command(process.execPath, harness, ...places, '198.51.100.2:7001', '127.0.0.1:7001');
      const report = JSON.parse(await output(first, rest)) as { address: string; reached: string[]; routes: string[] };
      expect(report.address).toMatch(/^[\d.]+$/);
      expect(report.reached).toEqual(['198.51.100.2:7001 closed', '127.0.0.1:7001 closed', `${report.address}:7003 closed`]);
      // A heading, the way out, and the bridge.
      expect(report.routes[0]?.trim()).toBe('3');
      expect(report.routes.filter((line) => !/localhost|routes/.test(line))).toEqual(['3']);
    } finally {
      server.kill();
    }
  });

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

  test('a program, its output and its exit code outlive an agent that is killed', async () => {
    const room = rooms.shell('echo before; read line; echo "got $line"; exit 8');
    const agent = `
import { openContainerDriver } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))};
      const driver = await openContainerDriver(${JSON.stringify({ ...options, sockets: [service.socketPath], exec: { isolation: 'full' } })});
      await driver.start(${JSON.stringify(room)}, 0);
      console.log('started');
      setInterval(() => {}, 1000);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', agent], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const streams = await (await tested.renew()).attach(room.id, { stdin: true });
    streams.stdin!.write('word\n');
    expect(await rooms.ended(room)).toMatchObject({ phase: 'exited', code: 8 });
    expect(await rooms.output(room, 'stdout')).toBe('before\ngot word\n');
    streams.close();
  });

  test('uploads and storages can be written by users of images', async () => {
    const [uploads, storage] = ['uploads', 'storage'].map((name) => directory.join(name)) as [string, string];
    for (const folder of [uploads, storage]) mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(uploads, 'file'), 'x', { mode: 0o600 });
    const mounts = [{ source: storage, path: '/data', readOnly: false }];
    const script = `su -s /bin/sh nobody -c 'echo y >> /workspace/file && touch /workspace/new /data/new && echo written'`;
    expect(await rooms.printed(script, { uploads, mounts })).toBe('written\n');
    expect(readFileSync(join(uploads, 'file'), 'utf8')).toBe('xy\n');
    expect(statSync(join(storage, 'new')).uid).toBe(65_534);
  });

  test('a tenant cannot ask the runtime for GPUs of others', async () => {
    expect(await rooms.printed('echo "$NVIDIA_VISIBLE_DEVICES"', { environment: { NVIDIA_VISIBLE_DEVICES: 'all' } })).toBe('void\n');
  });

  test('nothing is left of a unit that was removed: no container, process, mount or record', async () => {
    const room = await rooms.start(rooms.shell('setsid sleep 600 & echo ready; wait', { memory: 64 << 20, cpu: 500 }));
    await rooms.untilPrinted(room, 'ready');
    const containers = (): Promise<string> => output(podman, ['ps', '--all', '--format', '{{.Names}}'], { environment });
    expect(await containers()).toContain(room.id);
    await (await tested.renew()).remove(room.id);
    expect(await containers()).not.toContain(room.id);
    expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(room.id);
    for (const folder of ['units', 'rooms/units']) expect(existsSync(join(state, folder, room.id))).toBe(false);
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
