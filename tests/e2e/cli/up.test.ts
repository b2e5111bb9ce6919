import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import {
  answersReady,
  buildCapstan,
  Child,
  capstanCommand,
  capstanProgram,
  freePort,
  readConnection,
  run,
  temporaryDirectory,
} from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

await buildCapstan();

const processNames = ['apiserver', 'controller-manager', 'platform-controllers', 'runtime-api', 'console', 'node-agent'];

/** A part of what `capstan status` prints of a process. */
interface Reported {
  readonly name: string;
  readonly pid: number;
  readonly restarts: number;
  readonly phase: string;
  readonly health: string;
}

/** The node agent listens nowhere, so it has no check. */
const isFine = ({ phase, health }: Reported): boolean => phase === 'ready' && (health === 'ok' || health === '');

const capstan = (...args: string[]) => run(process.execPath, [capstanProgram, ...args], { timeout: 30_000 });

describe('capstan up', () => {
  const directory = temporaryDirectory('up');
  const data = directory.join('data');
  let port: number;
  let up: Child;

  const processes = async (): Promise<ReadonlyMap<string, Reported>> => {
    const { stdout } = await capstan('status', '--data-dir', data, '--output', 'json');
    const { processes: all } = JSON.parse(stdout) as { processes: Reported[] };
    return new Map(all.map((one) => [one.name, one]));
  };

  const ready = () => answersReady(readConnection(`${data}/admin.kubeconfig`));

  beforeAll(async () => {
    port = await freePort();
    up = new Child('capstan up', [capstanCommand, 'up', '--data-dir', data, '--port', String(port)]);
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  });
  afterAll(async () => {
    await up.stop();
    directory[Symbol.dispose]();
  });

  test('prints its address and the next step, and answers', async () => {
    expect(up.output).toContain(
      `Capstan is ready at https://127.0.0.1:${port}. Next, in another terminal: export KUBECONFIG=${data}/admin.kubeconfig`,
    );
    expect(await ready()).toBe(true);
  });

  test('gives its processes the options for memory that the command has chosen', () => {
    const [, option] = commandOf(up.pid);
    expect(option).toMatch(/^--max-semi-space-size=\d+$/);
    for (const name of ['apiserver', 'controller-manager']) expect(commandOf(childOf(up.pid, name))[1]).toBe(option);
  });

  test('names the holder to a second instance in the same directory', async () => {
    const second = await capstan('up', '--data-dir', data, '--port', String(await freePort()));
    expect(second.code).toBe(4);
    expect(second.stderr).toContain(`${data} is in use by another "capstan up": process ${up.pid}, since `);
  });

  test('reports a port that is in use to a second instance', async () => {
    const second = await capstan('up', '--data-dir', directory.join('other'), '--port', String(port));
    expect(second.code).toBe(3);
    expect(second.stdout).toContain(`port ${port} on 127.0.0.1 is used by another process`);
  });

  test('restarts only the API server when it is killed', async () => {
    await up.waitUntil('controllers', () => up.output.includes('| controllers run against'));
    const controllers = childOf(up.pid, 'controller-manager');
    const child = childOf(up.pid, 'apiserver');
    process.kill(child, 'SIGKILL');
    await up.waitUntil('another API server', () => up.output.includes('apiserver ended (SIGKILL), restarting it'));
    await up.waitUntil('ready again', ready);
    expect(childOf(up.pid, 'apiserver')).not.toBe(child);
    expect(childOf(up.pid, 'controller-manager')).toBe(controllers);
    expect(up.output.match(/Capstan is ready/g)).toHaveLength(1);
    await up.waitUntil('the controllers noticed', () => up.output.includes('the API server can be used again'));
    const said = up.output.split('\n').filter((line) => line.startsWith('controller-manager |') && !line.includes('controllers run'));
    expect(said).toEqual([
      expect.stringContaining('the API server cannot be used: '),
      expect.stringContaining('the API server can be used again after '),
    ]);
  });

  test.each(processNames)('keeps the others serving when %s is killed, and shows it with capstan status', async (name) => {
    await up.waitUntil('all healthy', async () => [...(await processes()).values()].every(isFine));
    const before = await processes();
    process.kill(before.get(name)!.pid, 'SIGKILL');
    if (name !== 'apiserver') expect(await ready()).toBe(true);
    await up.waitUntil(`another ${name}`, async () => {
      const now = (await processes()).get(name);
      return now !== undefined && now.restarts > before.get(name)!.restarts && isFine(now);
    });
    const after = await processes();
    expect(after.get(name)).toMatchObject({ phase: 'ready', lastError: { message: 'SIGKILL' }, memoryBytes: expect.any(Number) });
    for (const other of processNames)
      if (other !== name)
        expect(after.get(other)).toMatchObject({ pid: before.get(other)!.pid, restarts: before.get(other)!.restarts, phase: 'ready' });
    expect(await ready()).toBe(true);
  });

  test('restarts all when all are killed, and they work together again', async () => {
    const killed = childrenOf(up.pid);
    for (const pid of killed) process.kill(pid, 'SIGKILL');
    await up.waitUntil('others', () => {
      const now = childrenOf(up.pid);
      return now.length === processNames.length && !now.some((pid) => killed.includes(pid));
    });
    await up.waitUntil('ready again', ready);
    using client = new Client(connectionOf(loadKubeconfig({ path: `${data}/admin.kubeconfig` })));
    const namespaces = client.resource({ group: '', version: 'v1', resource: 'namespaces', namespaced: false });
    const accounts = client.resource({ group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true });
    const names = ({ items }: { items: readonly { metadata: { name?: string } }[] }) => items.map(({ metadata }) => metadata.name);
    await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'after' } });
    await expect.poll(async () => names(await accounts.in('after').list()), { timeout: 60_000 }).toContain('default');
    await namespaces.delete('after');
    await expect.poll(async () => names(await namespaces.list()), { timeout: 60_000 }).not.toContain('after');
    const health =
      up.output
        .match(/\| controllers run against \S+ health at (\S+)/g)
        ?.at(-1)
        ?.split(' ')
        .at(-1) ?? '';
    await expect.poll(async () => (await fetch(`${health}/readyz`)).status, { timeout: 30_000 }).toBe(200);
    expect((await fetch(`${health}/livez`)).status).toBe(200);
  });

  test('ends cleanly with its children on Ctrl-C', async () => {
    const children = childrenOf(up.pid);
    const before = up.output.length;
    up.signal('SIGINT');
    expect(await up.exited).toEqual({ code: 0, signal: null });
    expect(children).toHaveLength(processNames.length);
    expect(children.filter(isAlive)).toEqual([]);
    expect(await capstan('status', '--data-dir', data)).toMatchObject({
      code: 12,
      stderr: expect.stringContaining('no "capstan up" runs on'),
    });
    // The controllers end before the API server, so they have nothing to complain about.
    expect(up.output.slice(before)).not.toMatch(/ECONN|trying again/);
  });

  test('starts again at once after it was killed, while its former API server ends', async () => {
    const args = [process.execPath, capstanProgram, 'up', '--data-dir', data, '--port', String(port)];
    await using killed = new Child('capstan up', args);
    await killed.waitUntil('announced', () => killed.output.includes('Capstan is ready'));
    const server = childOf(killed.pid, 'apiserver');
    // It holds the store until it may go on.
    process.kill(server, 'SIGSTOP');
    await killed.kill();
    await using again = new Child('capstan up', args);
    await again.waitUntil('the wait', () => again.output.includes('s for the store: '));
    expect(again.output).toContain(`in use by process ${server}`);
    process.kill(server, 'SIGCONT');
    await again.waitUntil('announced', () => again.output.includes('Capstan is ready'));
    again.signal('SIGINT');
    expect(await again.exited).toEqual({ code: 0, signal: null });
  });
});

describe('capstan up with an optional process that cannot start', () => {
  test('serves, reports the process and tries it again', async () => {
    using directory = temporaryDirectory('optional');
    const [file, data] = [directory.join('capstan.yaml'), directory.join('data')];
    writeFileSync(file, 'platformControllers:\n  listen:\n    port: high\n');
    const args = ['up', '--config', file, '--data-dir', data, '--port', String(await freePort())];
    await using up = new Child('capstan up', [process.execPath, capstanProgram, ...args]);
    await up.waitUntil('it was tried twice', () => (up.output.match(/platform-controllers ended \(exit code 2\)/g) ?? []).length >= 2);
    expect(await answersReady(readConnection(`${data}/admin.kubeconfig`))).toBe(true);
    await up.waitUntil('the others are healthy', async () => (await capstan('status', '--data-dir', data)).code === 0);
    const { stdout } = await capstan('status', '--config', file, '--data-dir', data);
    expect(stdout).toContain('exit code 2: ');
    expect(stdout).toContain('capstan.yaml:3:11: expected a whole number from 0 to 65535, found "high"');
  });
});

describe('failed starts', () => {
  test('name the place of a mistake in the configuration', async () => {
    using directory = temporaryDirectory('config');
    const file = directory.join('capstan.yaml');
    writeFileSync(file, 'apiserver:\n  listen:\n    port: high\n');
    const { code, stderr } = await capstan('apiserver', '--config', file);
    expect([code, stderr]).toEqual([2, `capstan: ${file}:3:11: expected a whole number from 1 to 65535, found "high"\n`]);
  });

  test('report a port that another program uses', async () => {
    using directory = temporaryDirectory('port');
    const server = createServer();
    const port = await new Promise<number>((done) =>
      server.listen(0, '127.0.0.1', () => done((server.address() as { port: number }).port)),
    );
    const { code, stderr } = await capstan('apiserver', '--data-dir', directory.path, '--port', String(port));
    server.close();
    expect([code, stderr]).toEqual([3, expect.stringContaining(`port ${port} on 127.0.0.1 is used`)]);
  });

  test('report a data directory that is a file', async () => {
    using directory = temporaryDirectory('file');
    writeFileSync(directory.join('data'), '');
    const { code, stderr } = await capstan('apiserver', '--data-dir', directory.join('data'), '--port', '1024');
    expect([code, stderr]).toEqual([5, expect.stringContaining('cannot be used')]);
  });

  test('report a data directory that another API server uses', async () => {
    using directory = temporaryDirectory('held');
    const port = await freePort();
    await using first = new Child('capstan apiserver', [
      process.execPath,
      capstanProgram,
      'apiserver',
      '--data-dir',
      directory.path,
      '--port',
      String(port),
    ]);
    await first.waitUntil('ready', () => first.output.includes('ready at'));
    const { code, stderr } = await capstan('apiserver', '--data-dir', directory.path, '--port', String(await freePort()));
    expect([code, stderr]).toEqual([4, expect.stringContaining(`process ${first.pid}`)]);
  });

  test('report an unreachable etcd', async () => {
    using directory = temporaryDirectory('etcd');
    const endpoint = `http://127.0.0.1:${await freePort()}`;
    const { code, stderr } = await capstan(
      'apiserver',
      '--data-dir',
      directory.path,
      '--port',
      String(await freePort()),
      '--etcd-endpoints',
      endpoint,
    );
    expect([code, stderr]).toEqual([7, expect.stringContaining(`cannot connect to etcd at ${endpoint}`)]);
  });

  test.each([
    [['apiserver', '--port', 'high'], '--port: expected a whole number from 1 to 65535, found "high"'],
    [['apiserver', '--etcd-endpoints', 'here'], '--etcd-endpoints: expected URLs such as http://127.0.0.1:2379'],
    [['up', '--advertise', 'https://'], '--advertise: expected a host such as api.example.com'],
    [['up', '--colour'], "unknown option '--colour'"],
    [['up', 'now'], 'too many arguments'],
    [['upp'], "unknown command 'upp'"],
    [['snapshot', 'save'], "missing required argument 'file'"],
  ])('report wrong flags: %j', async (args, message) => {
    const { code, stderr } = await capstan(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe('unusable data directories', () => {
  test.each([
    ['up', '/proc/capstan'],
    ['apiserver', '/proc/capstan/data'],
  ])('are reported by %s on a file system without directories', async (command, data) => {
    const { code, stdout, stderr } = await capstan(command, '--data-dir', data, '--port', '1024');
    expect([code, stdout + stderr]).toEqual([5, expect.stringContaining(`${data} cannot be used: `)]);
    expect(stderr).not.toContain('    at ');
  });

  test.runIf(process.getuid?.() === 0)('are reported on a read-only file system', async () => {
    using directory = temporaryDirectory('readonly');
    const script = `mount -t tmpfs -o ro none ${directory.path} && exec "$0" "$@"`;
    for (const command of ['up', 'apiserver']) {
      const args = ['--mount', 'sh', '-c', script, process.execPath, capstanProgram, command, '--data-dir', directory.join('data')];
      const { code, stdout, stderr } = await run('unshare', args, { timeout: 30_000 });
      expect([code, stdout + stderr]).toEqual([5, expect.stringContaining('read-only file system')]);
      expect(stdout + stderr).not.toContain('    at ');
    }
  });
});

describe('capstan --version and --help', () => {
  test('exit with 0', async () => {
    const [version, long, help] = await Promise.all([capstan('version'), capstan('--version'), capstan('up', '--help')]);
    expect([version.code, long.code, help.code]).toEqual([0, 0, 0]);
    expect(long.stdout).toBe(version.stdout);
    expect(help.stdout).toContain('--etcd-endpoints');
  });
});

describe('the launcher', () => {
  test('works with any installed Node', async () => {
    const { code, stdout } = await run(capstanCommand, ['version']);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^capstan \d+\.\d+\.\d+ \(Kubernetes API 1\.34, Node 24\./)]);
  });

  test('ends with the npm that started it', async () => {
    using directory = temporaryDirectory('npm');
    const args = ['--', '--data-dir', directory.join('data'), '--port', String(await freePort())];
    await using npm = new Child('npm start', [
      'npm',
      '--no-update-notifier',
      '--prefix',
      resolve(capstanCommand, '../../../..'),
      'start',
      ...args,
    ]);
    await npm.waitUntil('announced', () => npm.output.includes('Capstan is ready'));
    const up = childOf(npm.pid, 'up');
    const children = childrenOf(up);
    npm.signal('SIGTERM');
    await npm.exited;
    expect([up, ...children].filter(isAlive)).toEqual([]);
  });
});

/** Without the shells that end them with their supervisor. */
function childrenOf(pid: number): number[] {
  const all = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  return all.filter((child) => !commandOf(child).includes('watchdog'));
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    // It has just ended.
    return ['watchdog'];
  }
}

function childOf(pid: number, command: string): number {
  const found = childrenOf(pid).filter((child) => commandOf(child).includes(command));
  if (found.length !== 1) throw new Error(`expected one child of ${pid} that runs ${command}, found ${found.join(', ') || 'none'}`);
  return found[0]!;
}

/**
 * A process that has ended keeps its entry until its parent reaps it. An orphan's new parent is the first process, which in some containers
 * never does.
 */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
