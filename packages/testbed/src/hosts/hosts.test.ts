import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeUnless } from '../requirements.ts';
import { tool } from '../tools/tool.ts';
import { groupsMount } from './group.ts';
import type { Host } from './host.ts';
import { HostNetwork } from './network.ts';

const found = await tool('faketime');

describeUnless(await HostNetwork.problem(), 'hosts', () => {
  let network: HostNetwork;
  let one: Host;
  let two: Host;
  beforeAll(async () => {
    network = await HostNetwork.create();
    one = await network.addHost('one', { clock: 'path' in found });
    two = await network.addHost('two');
  });
  afterAll(() => network[Symbol.asyncDispose]());

  const output = async (host: Host, ...command: string[]): Promise<string> => {
    const { code, stdout, stderr } = await host.run(command, { timeout: 20_000 });
    if (code !== 0) throw new Error(`${command.join(' ')}: ${stderr}`);
    return stdout.trim();
  };

  test('have their own names, processes, addresses, boot ids and control groups', async () => {
    expect([await output(one, 'hostname'), await output(two, 'hostname')]).toEqual(['one', 'two']);
    expect((await output(one, 'ls', '/proc')).split('\n').filter((name) => /^\d+$/.test(name)).length).toBeLessThan(6);
    expect(await output(two, 'ip', '-brief', 'address', 'show', 'dev', 'eth0')).toContain(`${two.address}/24`);
    expect(one.read('/proc/sys/kernel/random/boot_id')).not.toBe(two.read('/proc/sys/kernel/random/boot_id'));
    expect(await output(one, 'cat', '/proc/self/cgroup')).toMatch(/^0::\/$/m);
  });

  test('keep what they write to themselves', async () => {
    await output(one, 'sh', '-c', 'mkdir -p /var/lib/own && echo mine > /var/lib/own/file && echo mine > /etc/own');
    for (const path of ['/var/lib/own/file', '/etc/own']) {
      expect(one.read(path)).toBe('mine\n');
      expect([existsSync(path), existsSync(two.path(path))]).toEqual([false, false]);
    }
  });

  test('reach each other and the hub until the cable is cut', async () => {
    await using server = two.start('server', [
      process.execPath,
      '-e',
      'require("net").createServer((s) => s.end("hello\\n")).listen(80, () => console.log("up"))',
    ]);
    await server.waitUntil('it listens', () => server.output.includes('up'));
    const ask = (host: Host): Promise<string> => output(host, 'timeout', '2', 'bash', '-c', `cat < /dev/tcp/${two.address}/80`);
    expect(await ask(one)).toBe('hello');
    await two.cut();
    await expect(ask(one)).rejects.toThrow();
    await two.restore();
    await vi.waitFor(async () => expect(await ask(one)).toBe('hello'), { timeout: 10_000 });
    const port = await network.forward(9);
    expect(port).toBeGreaterThan(0);
  });

  test('keep their disk when they restart, and lose their programs', async () => {
    const before = one.read('/proc/sys/kernel/random/boot_id');
    await output(one, 'sh', '-c', 'echo kept > /root/kept; echo lost > /tmp/lost');
    const program = one.start('program', ['sleep', '600']);
    await vi.waitFor(async () => expect(await output(one, 'pgrep', 'sleep')).not.toBe(''));
    await one.reboot();
    await program.exited;
    expect(one.read('/root/kept')).toBe('kept\n');
    expect(existsSync(one.path('/tmp/lost'))).toBe(false);
    expect(one.read('/proc/sys/kernel/random/boot_id')).not.toBe(before);
    expect(await output(one, 'ip', '-brief', 'address', 'show', 'dev', 'eth0')).toContain(one.address);
  });

  test('stand still while they are paused', async () => {
    await using counter = one.start('counter', ['sh', '-c', 'while :; do echo x >> /root/count; sleep 0.01; done']);
    await counter.waitUntil('it counts', () => existsSync(one.path('/root/count')));
    await one.pause();
    const size = one.read('/root/count').length;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(one.read('/root/count').length).toBe(size);
    one.resume();
    await counter.waitUntil('it goes on', () => one.read('/root/count').length > size);
  });

  test('send signals to the program itself', async () => {
    const program = two.start('program', ['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.05; done']);
    await program.waitUntil('it is ready', () => program.output.includes('ready'));
    expect(readFileSync(`/proc/${program.pid}/comm`, 'utf8')).toBe('sh\n');
    await program.pause();
    program.resume();
    await program.kill();
    expect(program.running).toBe(false);
  });

  test('can have small disks, which fill up', async () => {
    await two.mountSmallDisk('/var/small', 1);
    two.fillDisk('/var/small');
    expect((await two.run(['sh', '-c', 'echo much > /var/small/more'])).code).not.toBe(0);
    await two.freeDisk('/var/small');
    await output(two, 'sh', '-c', 'echo much > /var/small/more');
  });

  test.skipIf('missing' in found)('have clocks that can be set', async () => {
    one.setClock(-86_400);
    expect(Math.abs(Number(await output(one, 'date', '+%s')) - (Date.now() / 1000 - 86_400))).toBeLessThan(60);
    one.setClock(0);
  });

  test('leave nothing behind', async () => {
    await using other = await HostNetwork.create();
    await other.addHost('gone');
    await other[Symbol.asyncDispose]();
    expect(readdirSync(groupsMount()!).filter((name) => name === `capstan-${process.pid}-gone`)).toEqual([]);
  });
});
