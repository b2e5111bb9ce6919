import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitRoom } from '../driver.ts';
import { IsolatedNetwork } from './network.ts';
import { openExecDriver } from './open.ts';
import { unitResolver } from './resolver.ts';
import { connectAttempts, echoServer } from './testing.ts';

/**
 * A program for `network.test.ts`, which runs it in a network namespace that stands for a node. It starts units in networks of their own,
 * and prints what they could reach and what is left of them. Arguments: the directory, the folders of programs, and targets.
 */
const [, , directory, programs, ...targets] = process.argv;
const bridgeName = 'captest0';
const network = new IsolatedNetwork({ bridge: bridgeName, programs: programs!.split(':'), idle: 0 });
const options = { directory: directory!, network };
const driver = await openExecDriver(options);

const room = (id: string, command: readonly string[], network: UnitRoom['network'] = 'Isolated'): UnitRoom => ({
  id,
  allocation: id,
  hostname: id,
  command,
  environment: {},
  mounts: [],
  network,
  tty: false,
  cpu: 0,
  memory: 0,
  devices: [],
});
const start = async (one: UnitRoom): Promise<void> => {
  await driver.prepare(one);
  await driver.start(one, 0);
};
const outputOf = async (id: string): Promise<string[]> => {
  const log = await driver.log(id, 0);
  const lines = log!.files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean));
  return lines.map((line) => line.split(' ').slice(3).join(' '));
};
const addressOf = async (id: string): Promise<string> => {
  const state = await driver.find(id, 0);
  return state?.phase === 'running' ? (state.address ?? '') : '';
};
const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

await start(room('server', echoServer(7003, 'INADDR_ANY')));
while (!(await outputOf('server')).includes('listening')) await sleep(10);
const address = await addressOf('server');
// Another agent, as after a restart: it must not give the address away.
const second = new IsolatedNetwork({ bridge: bridgeName, programs: programs!.split(':') });
const renewed = await openExecDriver({ ...options, network: second, known: driver });
await renewed.prepare(room('x', ['true']));
const others = ['first', 'second', 'third'];
for (const id of others) await start(room(id, ['sleep', '600']));
const addresses = [address, ...(await Promise.all(others.map(addressOf)))];
const bridge = ip('-4', '-o', 'address', 'show', 'dev', bridgeName).split(/\s+/)[3]!.split('/')[0]!;
await start(room('client', connectAttempts([...targets, `${address}:7003`, `${bridge}:7001`])));
while ((await driver.find('client', 0))?.phase === 'running') await driver.changed('client', 0, AbortSignal.timeout(30_000));
await start(room('lonely', connectAttempts([targets[0]!]), 'None'));
while ((await driver.find('lonely', 0))?.phase === 'running') await driver.changed('lonely', 0, AbortSignal.timeout(30_000));
await start(room('named', ['cat', '/etc/hosts', '/etc/resolv.conf']));
while ((await driver.find('named', 0))?.phase === 'running') await driver.changed('named', 0, AbortSignal.timeout(30_000));
const socket = await driver.connect('server', 7003);
socket.destroy();
const result = {
  isolation: driver.isolation,
  reached: await outputOf('client'),
  lonely: await outputOf('lonely'),
  names: { seen: await outputOf('named'), resolver: (await unitResolver()).text.trim().split('\n') },
  addresses,
  links: ip('-o', 'link').includes('cu'),
};
for (const id of await driver.list()) await driver.remove(id);
await renewed.remove('x');
await second[Symbol.asyncDispose]();
// Namespaces of networks end a moment after their last process, and the bridge after them.
for (let tries = 0; tries < 500 && [' cu', bridgeName].some((name) => ip('-o', 'link').includes(name)); tries++) await sleep(20);
await network.tearDown();
process.stdout.write(`${JSON.stringify({ ...result, linksLeft: ip('-o', 'link').split('\n').filter(Boolean).length })}\n`);
