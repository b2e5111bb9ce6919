import { readFileSync } from 'node:fs';
import { buildCapstan, Child, type CommandResult, capstanProgram, freePort, SystemdMachine, temporaryDirectory } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

await buildCapstan();

const patience = { timeout: 90_000, interval: 300 };

/** The control plane is on the same machine, and the agent is installed as on any other. */
describeUnless(await SystemdMachine.problem(), 'the agent as a service of systemd', () => {
  const directory = temporaryDirectory('systemd-agent');
  const data = directory.join('data');
  let machine: SystemdMachine;
  let up: Child;

  const capstan = (...args: string[]): Promise<CommandResult> => machine.run(process.execPath, capstanProgram, ...args);
  const asOwner = (...args: string[]): Promise<CommandResult> => capstan(...args, '--kubeconfig', `${data}/admin.kubeconfig`);
  const systemctl = async (...args: string[]): Promise<string> => (await machine.run('systemctl', ...args)).stdout.trim();
  const versionOf = async (name: string): Promise<string> =>
    new RegExp(`^${name}\\s+Ready\\s.*?(\\S+)$`, 'm').exec((await asOwner('node', 'list')).stdout)?.[1] ?? '';

  beforeAll(async () => {
    machine = await SystemdMachine.start();
    const flags = ['--data-dir', data, '--port', String(await freePort())];
    up = new Child('capstan up', machine.command(process.execPath, capstanProgram, 'up', '--no-node', ...flags));
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
  }, 120_000);
  afterAll(async () => {
    await up?.stop();
    await machine?.[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  test('is installed as a service; what it runs goes on while it restarts and while it is upgraded', { timeout: 240_000 }, async () => {
    let command = '';
    await vi.waitFor(async () => {
      const { code, stdout } = await asOwner('node', 'enroll', 'gpu-1');
      expect(code).toBe(0);
      command = stdout.trim();
    }, patience);
    const places = `--prefix ${directory.join('opt')} --state-dir ${directory.join('state')}`;
    const join = command.replace('--ca-file ca.pem', `--ca-file ca.pem ${places}`);
    const joined = await machine.run('sh', '-c', join);
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('runs as the service capstan-node-agent') });
    expect(await systemctl('is-active', 'capstan-node-agent')).toBe('active');
    expect(await systemctl('is-enabled', 'capstan-node-agent')).toBe('enabled');
    await vi.waitFor(async () => expect(await versionOf('gpu-1')).toMatch(/^0\.1\.0\+/), patience);

    const pidFile = directory.join('pid');
    const service = [
      '--set',
      'name=steady',
      '--set',
      'state=running',
      '--set',
      `command=["/bin/sh","-c","echo $$ > ${pidFile}; exec sleep 6000"]`,
    ];
    const started = await asOwner('task', 'run', 'gpu-1', 'service.ensure', ...service, '--name', 'steady', '--follow');
    expect(started).toMatchObject({ code: 0 });
    const pid = readFileSync(pidFile, 'utf8');
    const [unit = ''] = /capstan-service-\S+\.service/.exec(await systemctl('list-units', '--plain', '--no-legend', 'capstan-*')) ?? [];
    expect(await systemctl('show', '--property=ControlGroup', '--value', unit)).toBe(`/capstan.slice/${unit}`);

    const main = await systemctl('show', '--property=MainPID', '--value', 'capstan-node-agent');
    expect((await machine.run('sh', '-c', join)).code).toBe(0);
    expect(await systemctl('show', '--property=MainPID', '--value', 'capstan-node-agent')).toBe(main);

    await systemctl('restart', 'capstan-node-agent');
    expect(await systemctl('show', '--property=MainPID', '--value', 'capstan-node-agent')).not.toBe(main);
    expect((await capstan('node', 'archive', '--data-dir', data, '--build', 'second')).code).toBe(0);
    expect(await asOwner('node', 'upgrade', 'gpu-1', '--wait')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is 0.1.0+second.'),
    });
    expect(await systemctl('is-active', 'capstan-node-agent', unit)).toBe('active\nactive');
    expect(readFileSync(pidFile, 'utf8')).toBe(pid);
    expect((await machine.run('kill', '-0', pid.trim())).code).toBe(0);
  });
});
