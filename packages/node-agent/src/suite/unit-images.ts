import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { NetworkNamespace, output, type TemporaryDirectory, type TestRegistry, tool } from '@capstan/testbed';
import { afterEach, describe, expect, test } from 'vitest';
import { allocationMarker, processesMarked } from '../processes/proc.ts';
import type { ContainerDriver } from '../units/drivers/container/driver.ts';
import type { OpenContainerDriverOptions } from '../units/drivers/container/open.ts';
import type { UnitRoom } from '../units/drivers/driver.ts';
import { echoServer, programFolder } from '../units/drivers/exec/testing.ts';
import { readTar } from '../units/uploads/tar.ts';
import type { IsolationUnderTest } from './unit-isolation.ts';
import { TestRooms } from './unit-rooms.ts';

/** A driver of images under test. */
export interface ImagesUnderTest extends IsolationUnderTest {
  readonly renew: (more?: Pick<OpenContainerDriverOptions, 'spare'>) => Promise<ContainerDriver>;
  readonly directory: TemporaryDirectory;
  /** Of the engine. */
  readonly socket: () => string;
  readonly options: OpenContainerDriverOptions;
  /** On the machine; `buildUnitImage` made it. */
  readonly image: string;
  readonly registry: () => TestRegistry;
  /** A port of loopback where nobody listens. */
  readonly closedPort: () => number;
  /** The names of all containers. */
  readonly containers: () => Promise<string>;
}

const drivers = resolve(import.meta.dirname, '../units/drivers/container');

/** The behaviour of drivers that run images, whatever the engine. */
export function unitImagesSuite(tested: ImagesUnderTest): void {
  const { directory, image, registry, closedPort, options, state, containers } = tested;
  const rooms = new TestRooms(tested);
  afterEach(() => rooms.clean());

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
    expect(await containers()).not.toContain('capstan-files');
  });

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
      const name = `${registry().host}/unit:1`;
      const steps = await pull(name);
      expect(steps[0]).toBe(`pulls image ${name}`);
      expect(steps.at(-1)).toBe(`pulls image ${name} 100 %`);
      expect(await pull(name)).toEqual([]);
      expect((await rooms.run(rooms.room([], { image: name }))).stdout).toBe('from the image\n');
    });

    test('is pulled with the credentials of the unit, and not without', async () => {
      const name = `${registry().host}/secret/unit:1`;
      await expect(pull(name)).rejects.toMatchObject({ name: 'UnitProblem', reason: 'RegistryRefused', isFinal: true });
      const wrong = { auths: { [registry().host]: { username: 'user', password: 'guess' } } };
      await expect(pull(name, { pullConfig: JSON.stringify(wrong) })).rejects.toMatchObject({ reason: 'RegistryRefused', isFinal: true });
      const pullConfig = JSON.stringify({ auths: { [registry().host]: { auth: Buffer.from('user:word').toString('base64') } } });
      expect(await pull(name, { pullConfig })).not.toEqual([]);
    });

    test.each([
      ['that does not exist is missing', () => `${registry().host}/unit:2`, { reason: 'ImageMissing', isFinal: true }],
      ['of an unknown repository is missing', () => `${registry().host}/other:1`, { reason: 'ImageMissing', isFinal: true }],
      ['of this machine is never pulled', () => 'localhost/other:1', { reason: 'ImageMissing', isFinal: true }],
      [
        'of a registry that is down is tried again',
        () => `127.0.0.1:${closedPort()}/unit:1`,
        { reason: 'RegistryUnavailable', isFinal: false },
      ],
    ])('%s', async (_what, name, problem) => {
      await expect(pull(name())).rejects.toMatchObject({ name: 'UnitProblem', ...problem });
    });

    test('does not fill the disk of the node', async () => {
      const driver = await tested.renew({ spare: () => Number.POSITIVE_INFINITY });
      const room = rooms.room([], { image: `${registry().host}/unit:2` });
      await expect(driver.prepare(room, { onStep: () => {}, signal: AbortSignal.timeout(20_000) })).rejects.toMatchObject({
        reason: 'DiskFull',
        isFinal: false,
      });
    });
  });

  test('a unit with a network of its own reaches neither the node, nor services for machines, nor other units', async () => {
    const nft = await tool('nft');
    const problem = 'missing' in nft ? nft.missing : await NetworkNamespace.problem();
    if (problem !== undefined) return console.warn(`skipped: ${problem}`);
    await using node = await NetworkNamespace.create(['198.51.100.2', '169.254.169.254']);
    const [program, ...args] = node.command(...echoServer(7001, 'INADDR_ANY'));
    const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(server.stdout, 'data');
    try {
      const programs = programFolder(directory.join('network'), { nft: (nft as { path: string }).path });
      const targets = ['198.51.100.2:7001', '169.254.169.254:7001', '127.0.0.1:7001'];
      const harness = join(drivers, 'network-harness.ts');
      const places = [directory.join('isolated'), tested.socket(), `${programs}:/usr/sbin:/sbin:/usr/bin:/bin`, image];
      const [first, ...rest] = node.command(process.execPath, harness, ...places, ...targets);
      const report = JSON.parse(await output(first, rest)) as { address: string; reached: string[]; routes: string[] };
      expect(report.address).toMatch(/^[\d.]+$/);
      expect(report.reached).toEqual([...targets, `${report.address}:7003`].map((target) => `${target} closed`));
      // A heading, the way out, and the bridge.
      expect(report.routes[0]?.trim()).toBe('3');
      expect(report.routes.filter((line) => !/localhost|routes/.test(line))).toEqual(['3']);
    } finally {
      server.kill();
    }
  });

  test('a program, its output and its exit code outlive an agent that is killed', async () => {
    const room = rooms.shell('echo before; read line; echo "got $line"; exit 8');
    const agent = `
import { openContainerDriver } from ${JSON.stringify(join(drivers, 'open.ts'))};
      const driver = await openContainerDriver(${JSON.stringify({ ...options, sockets: [tested.socket()], exec: { isolation: 'full' } })});
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

  test('volumes of the image have its files, and count for the size of the container', async () => {
    const script = 'cat /srv/kept/note; head -c 200000000 /dev/zero > /srv/kept/large; echo " status $?"; stat -c %s /srv/kept/large';
    const { stdout } = await rooms.run(rooms.shell(script));
    expect(stdout).toMatch(/^of the image status 1\n/);
    expect(Number(stdout.split('\n')[1])).toBeLessThan(tested.disk);
  });

  test('a tenant cannot ask the runtime for GPUs of others', async () => {
    expect(await rooms.printed('echo "$NVIDIA_VISIBLE_DEVICES"', { environment: { NVIDIA_VISIBLE_DEVICES: 'all' } })).toBe('void\n');
  });

  test('nothing is left of a unit that was removed: no container, process, mount or record', async () => {
    const room = await rooms.start(rooms.shell('setsid sleep 600 & echo ready; wait', { memory: 64 << 20, cpu: 500 }));
    await rooms.untilPrinted(room, 'ready');
    expect(await containers()).toContain(room.id);
    await (await tested.renew()).remove(room.id);
    expect(await containers()).not.toContain(room.id);
    expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(directory.path));
    expect(mounts.filter((line) => line.includes(room.id) || /overlay2?\/[0-9a-f]{64}/.test(line))).toEqual([]);
    expect(execFileSync('losetup', ['--list', '--noheadings', '--output', 'BACK-FILE'], { encoding: 'utf8' })).not.toContain(room.id);
    for (const folder of ['units', 'rooms/units']) expect(existsSync(join(state, folder, room.id))).toBe(false);
  });
}
