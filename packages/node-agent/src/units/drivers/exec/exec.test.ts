import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { allocationMarker, processesMarked } from '../../../processes/proc.ts';
import { unitDriverSuite } from '../../../suite/unit-driver.ts';
import { unitIsolationSuite } from '../../../suite/unit-isolation.ts';
import { TestRooms } from '../../../suite/unit-rooms.ts';
import { IsolatedNetwork } from './network.ts';
import { openExecDriver } from './open.ts';
import { echoServer } from './testing.ts';

// Below /var, which units see: everything in /tmp is hidden from them anyway.
const state = mkdtempSync(join(process.getuid?.() === 0 ? '/var/lib' : tmpdir(), 'capstan-exec-'));
writeFileSync(join(state, 'secret'), 'secret', { mode: 0o644 });
afterAll(() => rmSync(state, { recursive: true }));

const options = { directory: join(state, 'units'), hidden: [state], log: { files: 2, bytes: 65536 }, processes: 200 };
const known = await openExecDriver(options);
const tested = { renew: () => openExecDriver({ ...options, known }), echoServer, state, user: 'own' as const, disk: 128 << 20 };
const plain = { ...tested, renew: () => openExecDriver({ ...options, known: { isolation: 'none' as const, why: 'a test' } }) };

describeUnless(known.isolation === 'full' ? undefined : known.why, 'commands as root', () => {
  unitDriverSuite(tested);
  unitIsolationSuite(tested);

  test('a folder that nodes share never changes hands: a file system that cannot map users is refused', async () => {
    const rooms = new TestRooms(tested);
    const shared = mkdtempSync(join(tmpdir(), 'capstan-ramfs-'));
    execFileSync('mount', ['-t', 'ramfs', 'ramfs', shared]);
    try {
      const room = rooms.shell('true', { mounts: [{ source: shared, path: '/data', readOnly: false, isShared: true }] });
      await expect(rooms.start(room)).rejects.toMatchObject({ reason: 'StorageUnavailable', isFinal: false });
      expect(statSync(shared).uid).toBe(0);
    } finally {
      await rooms.clean();
      execFileSync('umount', [shared]);
      rmSync(shared, { recursive: true });
    }
  });

  describe('nothing is left of a unit', () => {
    const rooms = new TestRooms(tested);
    afterEach(() => rooms.clean());

    test('that was removed: no process, namespace, mount or cgroup', async () => {
      const room = await rooms.start(rooms.shell('sleep 600 & echo ready; wait', { memory: 64 << 20, cpu: 500 }));
      await rooms.untilPrinted(room, 'ready');
      const found = await (await tested.renew()).find(room.id, 0);
      const pid = found?.phase === 'running' ? found.pid : 0;
      const namespaces = ['mnt', 'net', 'pid', 'ipc', 'uts', 'cgroup'].map((name) => readlinkSync(`/proc/${pid}/ns/${name}`));
      for (const [index, name] of ['mnt', 'net', 'pid', 'ipc', 'uts'].entries())
        expect(namespaces[index]).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
      expect(groupsOf(room.id).length).toBeGreaterThan(0);
      await (await tested.renew()).remove(room.id);
      expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
      expect(groupsOf(room.id)).toEqual([]);
      expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(room.id);
      expect(existsSync(join(options.directory, 'units', room.id))).toBe(false);
      // The kernel lists a process for a moment after it has ended.
      await expect.poll(() => namespacesInUse().filter((name) => namespaces.slice(0, 5).includes(name))).toEqual([]);
    });

    test('on a node without a packet filter: it runs with loopback only, and says what is missing', async () => {
      const bare = {
        ...tested,
        renew: () => openExecDriver({ ...options, known, network: new IsolatedNetwork({ programs: [join(state, 'nothing')] }) }),
      };
      const own = new TestRooms(bare);
      const room = await own.start(own.shell('cat /proc/net/dev; echo ready; sleep 600', { network: 'Isolated' }));
      await own.untilPrinted(room, 'ready');
      const notice = 'no access to other machines, which needs iproute2 and nftables on the node: apt-get install iproute2 nftables';
      const found = await (await bare.renew()).find(room.id, 0);
      expect(found).toMatchObject({ phase: 'running', notice });
      const interfaces = readFileSync(`/proc/${found?.phase === 'running' ? found.pid : 0}/net/dev`, 'utf8');
      expect([...interfaces.matchAll(/^ *(\S+):/gm)].map(([, name]) => name)).toEqual(['lo']);
      await own.clean();
    });

    test('whose launcher was killed: everything ends at once, and the state is lost', async () => {
      const room = await rooms.start(rooms.shell('setsid sleep 600 & echo ready; wait'));
      await rooms.untilPrinted(room, 'ready');
      const changed = (await tested.renew()).changed(room.id, 0, AbortSignal.timeout(20_000));
      process.kill(launcherOf(room.id), 'SIGKILL');
      await changed;
      await expect.poll(() => processesMarked(allocationMarker, room.allocation)).toEqual([]);
      expect(await (await tested.renew()).find(room.id, 0)).toMatchObject({ phase: 'lost' });
    });
  });
});

describe('commands of the same user', () => {
  unitDriverSuite(plain);
  const rooms = new TestRooms(plain);
  afterEach(() => rooms.clean());

  test('a unit with a storage is refused, because its path cannot be made', async () => {
    const room = rooms.shell('true', { mounts: [{ source: state, path: '/data', readOnly: true }] });
    await expect(rooms.start(room)).rejects.toMatchObject({ reason: 'StorageUnavailable', isFinal: true });
  });

  test('removing a unit ends what its killed launcher left behind', async () => {
    const room = await rooms.start(rooms.shell('setsid sleep 600 & echo ready; wait'));
    await rooms.untilPrinted(room, 'ready');
    process.kill(launcherOf(room.id), 'SIGKILL');
    await (await plain.renew()).remove(room.id);
    expect(await processesMarked(allocationMarker, room.allocation)).toEqual([]);
  });
});

test('a program, its output and its exit code outlive an agent that is killed', async () => {
  const { renew } = known.isolation === 'full' ? tested : plain;
  const rooms = new TestRooms({ ...tested, renew });
  const room = rooms.shell('echo before; while [ ! -e /proc/self/nothing ] && read line; do echo "got $line"; exit 8; done');
  const agent = `
    import { openExecDriver } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))};
    const driver = await openExecDriver(${JSON.stringify({ ...options, known: { isolation: (await renew()).isolation } })});
    await driver.start(${JSON.stringify(room)}, 0);
    console.log('started');
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', agent], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  await sleep(50);
  expect(await (await renew()).find(room.id, 0)).toMatchObject({ phase: 'running' });
  const streams = await (await renew()).attach(room.id, { stdin: true });
  streams.stdin!.write('word\n');
  expect(await rooms.ended(room)).toMatchObject({ phase: 'exited', code: 8 });
  expect(await rooms.output(room, 'stdout')).toBe('before\ngot word\n');
  streams.close();
  await rooms.clean();
});

function launcherOf(id: string): number {
  return Number(readFileSync(join(options.directory, 'units', id, '0', 'monitor'), 'utf8').split('\0')[1]);
}

/** The cgroups of a unit, in all hierarchies. */
function groupsOf(id: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  const folders = mounts
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, folder]) => join(folder!, 'capstan-units', id));
  return folders.filter((folder) => existsSync(folder));
}

function namespacesInUse(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return ['mnt', 'net', 'pid', 'ipc', 'uts'].map((name) => readlinkSync(`/proc/${pid}/ns/${name}`));
    } catch {
      return [];
    }
  });
}
