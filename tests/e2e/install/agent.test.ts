import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { buildCapstan, Child, type CommandResult, capstanProgram, freePort, run, temporaryDirectory } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
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
    const first = await machine.run(command);
    expect(first).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('the agent runs in the background, with the pid') });
    await vi.waitFor(async () => expect((await node('list')).stdout).toMatch(/^bare-1\s+Ready\s.*0\.1\.0\+[0-9a-f]{12}$/m), patience);

    const again = await machine.run(command);
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('the agent runs already, with the pid') });
    const pid = /with the pid (\d+)/;
    expect(pid.exec(again.stdout)?.[1]).toBe(pid.exec(first.stdout)?.[1]);
    expect((await machine.run('cat /proc/[0-9]*/cmdline')).stdout).not.toContain(tokenIn(command));

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
});
