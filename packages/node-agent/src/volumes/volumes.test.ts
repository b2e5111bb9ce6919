import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { volumeBackendSuite, volumeLimitSuite } from '../suite/volume-backend.ts';
import { owner, TestVolumes, volumeOf } from '../suite/volumes.ts';
import { type Backends, whyNoLoop } from './backends/choice.ts';
import { FolderBackend } from './backends/folder.ts';
import { LoopBackend } from './backends/loop.ts';
import { isRefused } from './preparation/addresses.ts';

const mebibyte = 2 ** 20;
const folderOnly: Backends = {
  preferred: new FolderBackend('it is a test'),
  of: (name) => (name === 'folder' ? folderOnly.preferred : undefined),
};
const loop = new LoopBackend({ spare: () => 0 });
const loopOnly: Backends = { preferred: loop, of: () => loop };

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-volumes-'));
});
afterEach(() => {
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n').toReversed()) {
    const point = line.split(' ')[4] ?? '';
    if (point.startsWith(directory)) execFileSync('umount', [point]);
  }
  rmSync(directory, { recursive: true, force: true });
});

describe('a volume in a folder', () => {
  volumeBackendSuite(folderOnly, () => directory);

  test('is taken as a snapshot only while no unit uses it', async () => {
    let isInUse = true;
    const isUsed = (name: string): boolean => name === 'source' && isInUse;
    await using volumes = await TestVolumes.start({ directory: join(directory, 'storages'), backends: folderOnly, isInUse: isUsed });
    writeFileSync(join(await volumes.ready(volumeOf('source')), 'file'), 'content');
    volumes.engine.accept(volumeOf('snapshot', { snapshotOf: 'source' }));
    await volumes.becomes('snapshot', { phase: 'Pending', reason: 'SourceInUse' });
    isInUse = false;
    await volumes.becomes('snapshot', { phase: 'Ready' });
  });

  test('says that its size is not enforced', async () => {
    await using volumes = await TestVolumes.start({ directory: join(directory, 'storages'), backends: folderOnly });
    await volumes.ready(volumeOf('a'));
    expect(volumes.last('a')).toMatchObject({ enforced: false, message: 'the size is not enforced: it is a test' });
  });
});

describeUnless(await whyNoLoop(), 'a volume in a loop file', () => {
  volumeBackendSuite(loopOnly, () => directory);
  volumeLimitSuite(loopOnly, () => directory);
  const start = (): Promise<TestVolumes> => TestVolumes.start({ directory: join(directory, 'storages'), backends: loopOnly });

  test('is taken as a snapshot while programs write: it has what they had written at one moment', async () => {
    await using volumes = await TestVolumes.start({ directory: join(directory, 'storages'), backends: loopOnly, isInUse: () => true });
    const source = await volumes.ready(volumeOf('source'));
    // Each number is written to the second file after it is in the first.
    const program = `const { writeFileSync, openSync, fsyncSync } = require('node:fs');
      const files = process.argv.slice(1).map((path) => openSync(path, 'w'));
      for (let count = 0; ; count++) for (const file of files) { writeFileSync(file, count + '\\n'); fsyncSync(file); }`;
    const writer = spawn(process.execPath, ['-e', program, join(source, 'first'), join(source, 'second')]);
    try {
      await expect.poll(() => existsSync(join(source, 'second')) && statSync(join(source, 'second')).size).toBeGreaterThan(20);
      const snapshot = await volumes.ready(volumeOf('snapshot', { snapshotOf: 'source' }));
      const [first, second] = ['first', 'second'].map((name) => readFileSync(join(snapshot, name), 'utf8').trim().split('\n').length);
      expect([0, 1]).toContain(first! - second!);
      // Programs go on.
      const size = statSync(join(source, 'second')).size;
      await expect.poll(() => statSync(join(source, 'second')).size).toBeGreaterThan(size);
      expect(() => writeFileSync(join(snapshot, 'x'), '')).toThrow('EROFS');
    } finally {
      writer.kill('SIGKILL');
      await once(writer, 'exit');
    }
  });

  test('that an agent left frozen works again with the next one', async () => {
    {
      await using volumes = await start();
      await volumes.ready(volumeOf('a'));
    }
    const point = join(directory, 'storages', 'a', 'mount');
    execFileSync('fsfreeze', ['--freeze', point]);
    const fresh = new LoopBackend({ spare: () => 0 });
    const backends: Backends = { preferred: fresh, of: () => fresh };
    await using volumes = await TestVolumes.start({ directory: join(directory, 'storages'), backends });
    await volumes.becomes('a', { phase: 'Ready' });
    // Only a frozen file system can be thawed.
    expect(() => execFileSync('fsfreeze', ['--unfreeze', point], { stdio: 'ignore' })).toThrow();
  });

  test('is mounted again after a restart of the machine', async () => {
    {
      await using volumes = await start();
      writeFileSync(join(await volumes.ready(volumeOf('a')), 'kept'), 'kept');
    }
    execFileSync('umount', [join(directory, 'storages', 'a', 'mount')]);
    await using volumes = await start();
    await volumes.becomes('a', { phase: 'Ready' });
    expect(readFileSync(join((await volumes.engine.pathOf('a', owner, { readOnly: true }))!, 'kept'), 'utf8')).toBe('kept');
  });

  test('finishes growth that was interrupted', async () => {
    {
      await using volumes = await start();
      await volumes.ready(volumeOf('a'));
    }
    execFileSync('truncate', ['-s', String(64 * mebibyte), join(directory, 'storages', 'a', 'image')]);
    await using volumes = await start();
    const larger = volumeOf('a', { size: 64 * mebibyte });
    await volumes.ready({ ...larger, metadata: { ...larger.metadata, generation: 2 } });
    await expect.poll(() => volumes.last('a')!.capacityBytes).toBeGreaterThan(50 * mebibyte);
  });

  test('is complete after the agent was killed again and again while it made it', async () => {
    const modules = ['engine', 'records', 'backends/loop', 'times', 'shared/directories'].map((name) =>
      JSON.stringify(new URL(`./${name}.ts`, import.meta.url).href),
    );
    const program = `
      const [{ VolumeEngine }, { VolumeRecords }, { LoopBackend }, { defaultVolumeTimes }, { SharedDirectories }] = await Promise.all([${modules.map((one) => `import(${one})`).join(', ')}]);
      const loop = new LoopBackend({ spare: () => 0 });
      const engine = new VolumeEngine({
        records: new VolumeRecords(process.argv[1]), backends: { preferred: loop, of: () => loop }, times: { ...defaultVolumeTimes, retryDelay: 5 },
        isInUse: () => false, isRefused: () => true, report: () => {}, log: () => {}, directories: new SharedDirectories([], () => {}),
      });
      await engine.resume();
      for (const volume of JSON.parse(process.argv[2])) engine.accept(volume);
      process.stdout.write('begun');
    `;
    const larger = volumeOf('copy', { prepare: { storage: 'source' }, size: 48 * mebibyte });
    {
      await using volumes = await start();
      const source = await volumes.ready(volumeOf('source'));
      for (let count = 0; count < 200; count++) writeFileSync(join(source, `file-${count}`), `content ${count}`);
    }
    for (const wait of [0, 10, 25, 40, 60, 90, 130]) {
      const wanted = wait < 60 ? volumeOf('copy', { prepare: { storage: 'source' } }) : larger;
      const child = spawn(process.execPath, [
        '--input-type=module',
        '-e',
        program,
        join(directory, 'storages'),
        JSON.stringify([volumeOf('source'), wanted]),
      ]);
      await once(child.stdout, 'data');
      await sleep(wait);
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await using volumes = await start();
    const path = await volumes.ready({ ...larger, metadata: { ...larger.metadata, generation: 2 } });
    expect(readdirSync(path)).toHaveLength(200);
    expect(readFileSync(join(path, 'file-199'), 'utf8')).toBe('content 199');
    await expect.poll(() => volumes.last('copy')!.capacityBytes).toBeGreaterThan(33 * mebibyte);
  }, 60_000);

  test('that is damaged is repaired when somebody asks for it', async () => {
    {
      await using volumes = await start();
      await volumes.ready(volumeOf('a'));
    }
    execFileSync('umount', [join(directory, 'storages', 'a', 'mount')]);
    const image = join(directory, 'storages', 'a', 'image');
    // The first superblock and the group descriptors.
    execFileSync('dd', ['if=/dev/urandom', `of=${image}`, 'bs=1k', 'seek=1', 'count=6', 'conv=notrunc'], { stdio: 'ignore' });
    await using volumes = await start();
    await volumes.becomes('a', { phase: 'Failed', reason: 'FileSystemDamaged', recoverable: true });
    const again = volumeOf('a', { recover: 1 });
    await volumes.ready({ ...again, metadata: { ...again.metadata, generation: 2 } });
  });

  test('leaves a part of the disk to the machine', async () => {
    const disk = join(directory, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=100m', 'tmpfs', disk]);
    const careful = new LoopBackend({ spare: (bytes) => bytes * 0.8 });
    await using volumes = await TestVolumes.start({ directory: disk, backends: { preferred: careful, of: () => careful } });
    volumes.engine.accept(volumeOf('a'));
    await volumes.becomes('a', { phase: 'Pending', reason: 'DiskFull' });
  });

  test('waits while the disk of the node is full, and says how much is missing', async () => {
    const disk = join(directory, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', disk]);
    await using volumes = await TestVolumes.start({ directory: disk, backends: loopOnly });
    await volumes.ready(volumeOf('a'));
    volumes.engine.accept(volumeOf('b'));
    await volumes.becomes('b', { phase: 'Pending', reason: 'DiskFull' });
    expect(volumes.last('b')!.message).toMatch(/^needs 32 MiB, and the disk of the node has \d+ MiB left for volumes$/);
    volumes.engine.accept({ ...volumeOf('a', { deleted: true }) });
    await volumes.becomes('b', { phase: 'Ready' });
    volumes.engine.accept(volumeOf('b', { deleted: true }));
    await volumes.becomes('b', { phase: 'Deleted' });
  });
});

describe('a volume that is prepared from the web', () => {
  let server: Server;
  let base: string;
  let isBroken = false;
  const archive = join(mkdtempSync(join(tmpdir(), 'capstan-archive-')), 'files.tar.gz');
  const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
  beforeAll(async () => {
    execFileSync('sh', ['-c', `mkdir ${archive}.d && echo hello > ${archive}.d/greeting && tar -C ${archive}.d -czf ${archive} .`]);
    server = createServer((request, response) => {
      if (isBroken) return void response.writeHead(500).end();
      if (request.url === '/file.txt') return void response.end('content');
      if (request.url === '/files.tar.gz') return void response.end(readFileSync(archive));
      if (request.url?.startsWith('/redirect')) return void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
      if (request.url === '/endless') {
        const send = (): void => void response.write(Buffer.alloc(mebibyte), () => send());
        return send();
      }
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
    rmSync(join(archive, '..'), { recursive: true });
  });
  const url = (path: string, hash: string, unpack: 'None' | 'TarGzip' = 'None') => ({
    prepare: { url: { url: path, sha256: hash, unpack } },
  });
  // The server of this test is on the loopback, which is refused otherwise.
  const start = (): Promise<TestVolumes> =>
    TestVolumes.start({
      directory: join(directory, 'storages'),
      backends: folderOnly,
      isRefused: (one) => one !== '127.0.0.1' && isRefused(one),
    });

  test('has the file, or the files of the archive', async () => {
    await using volumes = await start();
    const path = await volumes.ready(volumeOf('a', url(`${base}/file.txt`, sha256('content'))));
    expect(readFileSync(join(path, 'file.txt'), 'utf8')).toBe('content');
    const unpacked = await volumes.ready(volumeOf('b', url(`${base}/files.tar.gz`, sha256(readFileSync(archive)), 'TarGzip')));
    expect(readFileSync(join(unpacked, 'greeting'), 'utf8')).toBe('hello\n');
  });

  test('fails if the content is not what was expected, does not fit or does not exist', async () => {
    await using volumes = await start();
    volumes.engine.accept(volumeOf('a', url(`${base}/file.txt`, sha256('other'))));
    await volumes.becomes('a', { phase: 'Failed', reason: 'ChecksumMismatch', recoverable: true });
    volumes.engine.accept(volumeOf('b', url(`${base}/endless`, sha256(''))));
    await volumes.becomes('b', { phase: 'Failed', reason: 'DiskFull' });
    volumes.engine.accept(volumeOf('c', url(`${base}/missing`, sha256(''))));
    await volumes.becomes('c', { phase: 'Failed', reason: 'DownloadFailed' });
    volumes.engine.accept(volumeOf('d', url(`${base}/file.txt`, sha256('content'), 'TarGzip')));
    await volumes.becomes('d', { phase: 'Failed', reason: 'UnpackFailed' });
    for (const name of ['a', 'b', 'c', 'd']) expect(await volumes.engine.pathOf(name, owner, { readOnly: true })).toBeUndefined();
  });

  test('is tried again when somebody asks for it', async () => {
    await using volumes = await start();
    isBroken = true;
    volumes.engine.accept(volumeOf('a', url(`${base}/file.txt`, sha256('content'))));
    await volumes.becomes('a', { phase: 'Failed', reason: 'DownloadFailed' });
    isBroken = false;
    const again = volumeOf('a', { ...url(`${base}/file.txt`, sha256('content')), recover: 1 });
    await volumes.ready({ ...again, metadata: { ...again.metadata, generation: 2 } });
  });

  test('can be deleted while it is downloaded', async () => {
    await using volumes = await start();
    const slow = createServer(() => {});
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    volumes.engine.accept(volumeOf('a', url(`http://127.0.0.1:${(slow.address() as AddressInfo).port}/`, sha256(''))));
    await volumes.becomes('a', { phase: 'Preparing' });
    volumes.engine.accept(volumeOf('a', { deleted: true }));
    await volumes.becomes('a', { phase: 'Deleted' });
    slow.closeAllConnections();
    slow.close();
  });

  test('never reads from the node or from services for machines', async () => {
    const hostile = [
      'http://169.254.169.254/latest/meta-data/',
      'http://[::1]:6443/',
      'http://[::ffff:127.0.0.2]/',
      'http://[::ffff:a9fe:a9fe]/',
      'http://0.0.0.0/',
      'http://2852039166/',
      'http://0x7f.2/',
      'http://127.1.2.3/',
      'http://localhost:1/',
      'http://100.100.100.200/',
      'http://[fd00:ec2::254]/',
      `${base}/redirect`,
    ];
    // `localhost` is the address of the server of this test, so its exception does not hold here.
    const strict = { directory: join(directory, 'storages'), backends: folderOnly };
    await using volumes = await TestVolumes.start({ ...strict, isRefused: (one) => one !== '127.0.0.1' && isRefused(one) });
    await using all = await TestVolumes.start({ ...strict, directory: join(directory, 'strict'), isRefused });
    for (const [index, one] of hostile.entries()) {
      const engine = one.includes('localhost') ? all : volumes;
      engine.engine.accept(volumeOf(`a${index}`, url(one, sha256(''))));
      await engine.becomes(`a${index}`, { phase: 'Failed', reason: 'UrlRefused' });
    }
  });
});
