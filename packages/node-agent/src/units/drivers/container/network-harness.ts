import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitRoom } from '../driver.ts';
import { IsolatedNetwork } from '../exec/network.ts';
import { connectAttempts, echoServer } from '../exec/testing.ts';
import { openContainerDriver } from './open.ts';

/**
 * A program for `container.test.ts`, which runs it in a network namespace that stands for a node. It starts containers in networks of their own, and
 * prints what they could reach. Arguments: the directory, the socket of Podman, the folders of programs, the image, and targets.
 */
const [, , directory, socket, programs, image, ...targets] = process.argv;
const driver = await openContainerDriver({
  directory: directory!,
  sockets: [socket!],
  exec: { isolation: 'full' },
  network: new IsolatedNetwork({ bridge: 'captest1', programs: programs!.split(':'), idle: 0 }),
});

const start = async (id: string, command: readonly string[]): Promise<void> => {
  const shared = { allocation: id, hostname: id, environment: {}, mounts: [], tty: false, cpu: 0, memory: 0, devices: [] };
  const room: UnitRoom = { ...shared, id, image: image!, command, network: 'Isolated' };
  await driver.prepare(room, { onStep: () => {}, signal: AbortSignal.timeout(20_000) });
  await driver.start(room, 0);
};
const outputOf = async (id: string): Promise<string[]> => {
  const log = await driver.log(id, 0);
  const lines = log!.files.flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean));
  return lines.map((line) => line.split(' ').slice(3).join(' '));
};
const ended = async (id: string): Promise<string[]> => {
  while ((await driver.find(id, 0))?.phase === 'running') await driver.changed(id, 0, AbortSignal.timeout(20_000));
  return outputOf(id);
};

await start('server', echoServer(7003, 'INADDR_ANY'));
while (!(await outputOf('server')).includes('listening')) await sleep(10);
const found = await driver.find('server', 0);
const address = found?.phase === 'running' ? found.address : undefined;
await start('client', connectAttempts([...targets, `${address}:7003`]));
await start('routes', ['/bin/sh', '-c', 'cat /proc/net/route | wc -l; cat /etc/hosts']);
const socketInside = await driver.connect('server', 7003);
socketInside.destroy();
const report = { address, reached: await ended('client'), routes: await ended('routes') };
for (const id of await driver.list()) await driver.remove(id);
process.stdout.write(`${JSON.stringify(report)}\n`);
