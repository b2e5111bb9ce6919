import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { buildArchive } from '@capstan/node-agent';
import {
  buildCapstan,
  Child,
  type CommandResult,
  capstanProgram,
  freePort,
  readConnection,
  run,
  temporaryDirectory,
} from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { BareMachine } from './bare-machine.ts';

await buildCapstan();

const patience = { timeout: 60_000, interval: 200 };

/** One control plane and one bare machine for all tests, in networks of their own. */
describeUnless(await BareMachine.problem(), 'the agent on a bare machine', () => {
  const directory = temporaryDirectory('bare');
  const data = directory.join('data');
  let machine: BareMachine;
  let up: Child;
  let port: number;

  const capstan = (...args: string[]): Promise<CommandResult> => {
    const [program, ...rest] = machine.besideServer(process.execPath, capstanProgram, ...args);
    return run(program, rest, { timeout: 120_000 });
  };
  const node = (...args: string[]): Promise<CommandResult> => capstan('node', ...args, '--kubeconfig', `${data}/admin.kubeconfig`);
  const enroll = async (name: string): Promise<string> => {
    let command = '';
    await vi.waitFor(async () => {
      const { code, stdout, stderr } = await node('enroll', name);
      expect(stderr).toBe('');
      expect(code).toBe(0);
      command = stdout.trim();
    }, patience);
    return command;
  };
  const tokenIn = (command: string): string => /CAPSTAN_NODE_TOKEN=\S+\.(\S+)/.exec(command)![1]!;
  const withFlags = (command: string, flags: string): string => command.replace('--ca-file ca.pem', `--ca-file ca.pem ${flags}`);

  beforeAll(async () => {
    machine = await BareMachine.start(directory.join('root'));
    port = await freePort();
    const flags = ['--data-dir', data, '--host', '0.0.0.0', '--advertise', `${BareMachine.serverAddress}:${port}`, '--port', String(port)];
    up = new Child('capstan up', machine.besideServer(process.execPath, capstanProgram, 'up', '--no-node', ...flags));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  }, 120_000);
  afterAll(async () => {
    await up?.stop();
    await machine?.[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('joins with the one command that capstan node enroll prints', { timeout: 120_000 }, async () => {
    expect((await machine.run('command -v node')).code).not.toBe(0);
    const command = await enroll('bare-1');
    const first = await machine.run(`export CAPSTAN_TRIAL_SECONDS=3; ${command}`);
    expect(first).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('the agent runs in the background, with the pid') });
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^bare-1\s+Ready\s.*0\.1\.0\+[0-9a-f]{12}$/m), patience);

    const again = await machine.run(command);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('the agent runs already, with the pid') });
    const pid = /with the pid (\d+)/;
    expect(pid.exec(again.stdout)?.[1]).toBe(pid.exec(first.stdout)?.[1]);
    expect((await machine.run('cat /proc/[0-9]*/cmdline')).stdout).not.toContain(tokenIn(command));

    expect((await node('remove', 'bare-1')).code).toBe(0);
    const anew = await machine.run(`export CAPSTAN_TRIAL_SECONDS=3; ${await enroll('bare-1')}`);
    expect(anew).toMatchObject({ code: 0, stdout: expect.stringContaining('the agent runs in the background') });
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^bare-1\s+Ready\s/m), patience);

    const other = await machine.run(withFlags(command, '--prefix /opt/other --state-dir /opt/other-state --no-start'));
    expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(/the token was used before[\s\S]*does not accept this machine/) });
  });

  test('joins as a plain user, below the home directory', { timeout: 120_000 }, async () => {
    const command = await enroll('bare-2');
    const refused = await machine.run(withFlags(command, '--prefix /opt/capstan'), { user: 1000 });
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('user may not write to /opt/capstan. Run the command as root'),
    });
    const joined = await machine.run(command, { user: 1000 });
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('its log: /home/user/.local/share/capstan/agent.log') });
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^bare-2\s+Ready\s/m), patience);
  });

  test('says in a sentence what is wrong', { timeout: 120_000 }, async () => {
    const command = await enroll('bare-3');
    const small = 'mount -t tmpfs -o size=60m tmpfs /small; ';
    const cases: readonly (readonly [string, string])[] = [
      [command.replace(/ H=[0-9a-f]{4}/, ' H=0000'), 'the server has another authority than the join command says'],
      [command.replaceAll(`:${port}`, ':1'), 'https://10.99.0.1:1 did not answer with the expected file'],
      [small + withFlags(command, '--prefix /small'), 'there is not enough space in /small: the agent needs'],
    ];
    for (const [script, message] of cases)
      expect(await machine.run(script)).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
    const withoutToken = withFlags(command.replace(/CAPSTAN_NODE_TOKEN=\S+ /, ''), '--state-dir /opt/none --no-start');
    expect(await machine.run(withoutToken)).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no token') });
    const wrongToken = withFlags(command.replace(/(CAPSTAN_NODE_TOKEN=\S+) /, '$1x '), '--state-dir /opt/none --no-start');
    expect(await machine.run(wrongToken)).toMatchObject({ code: 1, stderr: expect.stringContaining('the token is wrong, has expired') });
  });

  test('refuses an archive that somebody has changed, and one that is cut short is completed', { timeout: 120_000 }, async () => {
    const command = withFlags(await enroll('bare-4'), '--prefix /opt/fourth --state-dir /opt/fourth-state --no-start');
    const folder = `${data}/agents`;
    const file = `${folder}/${readdirSync(folder).find((name) => name.endsWith('.tar.gz'))}`;
    const good = readFileSync(file);
    const bad = Buffer.from(good);
    bad[1_000_000] = (bad[1_000_000]! + 1) % 256;
    writeFileSync(file, bad);
    expect(await machine.run(command)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the archive is not the expected one: its SHA-256 is/),
    });
    expect((await machine.run('ls -A /opt/fourth /opt/fourth/versions')).stdout).not.toMatch(/current|0\.1\.0/);
    writeFileSync(file, good);
    const part = `${machine.root}/opt/fourth/versions/.${createHash('sha256').update(good).digest('hex')}.part`;
    writeFileSync(part, good.subarray(0, 10_000_000));
    expect(await machine.run(command)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('installed in /opt/fourth and not started'),
    });
    expect((await machine.run('/opt/fourth/current/bin/capstan --version')).stdout).toMatch(/^capstan 0\.1\.0\+/);
  });

  describe('upgrades', { timeout: 120_000 }, () => {
    /** An archive whose program is a shell script: it gets the arguments of `capstan`. */
    const offer = async (
      build: string,
      agent: string,
      more: { readonly padding?: number; readonly check?: string } = {},
    ): Promise<void> => {
      const folder = directory.join(`fake-${build}`);
      mkdirSync(`${folder}/bundle`, { recursive: true });
      writeFileSync(`${folder}/bundle/padding`, Buffer.alloc(more.padding ?? 0));
      const script = `#!/bin/sh\nshift\ncase "$*" in\n--version) echo "capstan 0.1.0+${build}" ;;\n*--self-check*) ${more.check ?? 'exit 0'} ;;\n*) ${agent} ;;\nesac\n`;
      writeFileSync(`${folder}/node`, script);
      const platform = `linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}` as const;
      await buildArchive(`${data}/agents`, {
        platform,
        version: '0.1.0',
        build,
        bundle: `${folder}/bundle`,
        runtime: { program: `${folder}/node` },
      });
    };
    const offerReal = async (build: string): Promise<void> =>
      expect(await capstan('node', 'archive', '--data-dir', data, '--build', build)).toMatchObject({ code: 0 });
    const versionOf = async (name: string): Promise<string> =>
      new RegExp(`^${name}\\s.*?(\\S+)$`, 'm').exec((await node('list')).stdout)?.[1] ?? '';
    const upgrade = (name: string): Promise<CommandResult> => node('upgrade', name, '--wait');
    const task = (...args: string[]): Promise<CommandResult> => capstan('task', ...args, '--kubeconfig', `${data}/admin.kubeconfig`);
    /** A task on bare-1 that writes its pid and waits for a file. */
    const startTask = async (name: string): Promise<string> => {
      const content = `#!/bin/sh\necho $$ > /tmp/${name}.pid; while [ ! -e /tmp/${name}.go ]; do sleep 0.1; done; echo done`;
      await post('/clusters/root:platform/apis/fleet.capstan.dev/v1alpha1/nodescripts', {
        apiVersion: 'fleet.capstan.dev/v1alpha1',
        kind: 'NodeScript',
        metadata: { name },
        spec: { content },
      });
      expect(await task('run', 'bare-1', 'process.run', '--set', `script=${name}`, '--name', name)).toMatchObject({ code: 0 });
      let pid = '';
      await vi.waitFor(async () => expect((pid = (await machine.run(`cat /tmp/${name}.pid`)).stdout.trim())).not.toBe(''), patience);
      return pid;
    };
    const isAlive = async (pid: string): Promise<boolean> => (await machine.run(`kill -0 ${pid}`)).code === 0;
    const post = async (path: string, object: object): Promise<void> => {
      const { ca, certificate, key } = readConnection(`${data}/admin.kubeconfig`);
      for (const [name, pem] of Object.entries({ ca, cert: certificate, key })) writeFileSync(directory.join(`${name}.pem`), pem!);
      const identity = ['--cacert', directory.join('ca.pem'), '--cert', directory.join('cert.pem'), '--key', directory.join('key.pem')];
      const body = ['-H', 'content-type: application/json', '-d', JSON.stringify(object)];
      const [program, ...args] = machine.besideServer(
        'curl',
        '-fsS',
        ...identity,
        ...body,
        `https://${BareMachine.serverAddress}:${port}${path}`,
      );
      expect(await run(program, args)).toMatchObject({ code: 0 });
    };

    test('a task goes on in the same process while the agent is replaced', async () => {
      const pid = await startTask('outlives');
      const before = await versionOf('bare-1');
      await offerReal('second');
      expect(await upgrade('bare-1')).toMatchObject({ code: 0, stdout: expect.stringContaining('The agent of bare-1 is 0.1.0+second.') });
      expect(before).not.toBe('0.1.0+second');
      expect(await versionOf('bare-1')).toBe('0.1.0+second');
      expect(await isAlive(pid)).toBe(true);
      expect((await task('list')).stdout).toMatch(/outlives\s+process\.run\s+Running/);
      await machine.run('touch /tmp/outlives.go');
      await vi.waitFor(async () => expect((await task('list')).stdout).toMatch(/outlives\s+process\.run\s+Succeeded\s+0/), patience);
      expect((await machine.run('ls /opt/capstan/versions')).stdout.trim().split('\n').sort()).toEqual([before, '0.1.0+second'].sort());
      expect(await upgrade('bare-1')).toMatchObject({ code: 0, stdout: expect.stringContaining('is 0.1.0+second already') });
    });

    test.each([
      ['ends', 'exit 9', 'ended with the exit code 9 before it reported to the control plane; 0.1.0+second runs again'],
      ['hangs', 'exec sleep 600', 'did not report to the control plane within 3 seconds; 0.1.0+second runs again'],
    ])('a new version that %s is replaced by the one before', async (name, agent, message) => {
      const pid = await startTask(name);
      await offer(name, agent);
      const { code, stderr } = await upgrade('bare-1');
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
      expect(await versionOf('bare-1')).toBe('0.1.0+second');
      expect(await isAlive(pid)).toBe(true);
      await machine.run(`touch /tmp/${name}.go`);
      await vi.waitFor(
        async () => expect((await task('list')).stdout).toMatch(new RegExp(`${name}\\s+process\\.run\\s+Succeeded\\s+0`)),
        patience,
      );
      expect((await node('show', 'bare-1')).stdout).toContain(message);
    });

    test('a version that fails its check is not started', async () => {
      await offer('unfit', 'exit 9', { check: 'echo "no such library" >&2; exit 1' });
      expect(await upgrade('bare-1')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('does not work on this machine: no such library'),
      });
      expect((await machine.run('readlink /opt/capstan/current; ls -A /opt/capstan/versions')).stdout).not.toContain('unfit');
    });

    test('an archive that somebody has changed is refused', async () => {
      await offer('changed', 'exit 9');
      const { file } = JSON.parse(readFileSync(`${data}/agents/linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}.json`, 'utf8')) as {
        file: string;
      };
      const bytes = readFileSync(`${data}/agents/${file}`);
      bytes[bytes.length - 20]! ^= 1;
      writeFileSync(`${data}/agents/${file}`, bytes);
      expect(await upgrade('bare-1')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/has the SHA-256 [0-9a-f]{64}, and [0-9a-f]{64} was expected/),
      });
      expect((await machine.run('readlink /opt/capstan/current; ls -A /opt/capstan/versions')).stdout).not.toMatch(/changed|part/);
    });

    test('a full disk changes nothing, whether it is seen before or while the archive is unpacked', async () => {
      await offerReal('third');
      const command = withFlags(await enroll('bare-5'), '--prefix /small/agent --state-dir /opt/fifth-state');
      expect(await machine.run(`umount /small; mount -t tmpfs -o size=200m tmpfs /small; ${command}`)).toMatchObject({ code: 0 });
      await vi.waitFor(async () => expect(await versionOf('bare-5')).toBe('0.1.0+third'), patience);
      await offer('large', 'exit 9', { padding: 100 << 20 });
      expect(await upgrade('bare-5')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/\/small\/agent has \d+ MiB free, and the new version needs \d+ MiB/),
      });
      const manifest = `${data}/agents/linux-${process.arch === 'arm64' ? 'arm64' : 'x64'}.json`;
      writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), unpackedSize: 1 }));
      expect(await upgrade('bare-5')).toMatchObject({ code: 1, stderr: expect.stringContaining('could not be unpacked') });
      expect(await versionOf('bare-5')).toBe('0.1.0+third');
      expect((await machine.run('ls -A /small/agent/versions')).stdout.trim()).not.toContain('large');
    });
  });
});
