import { existsSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { answersReady, Child, readConnection } from '@capstan/testbed';
import { listeningProcess, residentMegabytes } from '../measure/memory.ts';
import { crds, removeAll } from './crds.ts';
import type { Amounts, Measurement, Restartable } from './profile.ts';

/** Starts a server with a command, waits until it is ready, and stops it. The command writes the kubeconfig. */
export async function start(command: string, kubeconfig: string): Promise<Measurement[]> {
  rmSync(kubeconfig, { force: true });
  const began = performance.now();
  await using child = new Child('server', ['sh', '-c', `exec ${command}`]);
  await child.waitUntil('ready', () => existsSync(kubeconfig) && answersReady(readConnection(kubeconfig)));
  const seconds = (performance.now() - began) / 1000;
  await sleep(2_000);
  const pid = listeningProcess(readConnection(kubeconfig).port) ?? child.pid;
  return [
    { what: 'start to ready', value: seconds, unit: 's', better: 'lower' },
    { what: 'memory at rest', value: residentMegabytes([pid]) ?? Number.NaN, unit: 'MB', better: 'lower' },
  ];
}

/** Starts a server with a command, fills it with definitions and custom resources, restarts it, and leaves it as it was. */
export async function startWithMany({
  command,
  kubeconfig,
  amounts,
}: {
  command: string;
  kubeconfig: string;
  amounts: Amounts;
}): Promise<Measurement[]> {
  rmSync(kubeconfig, { force: true });
  let child: Child | undefined;
  const restartable: Restartable = {
    stop: async () => await child?.stop(),
    start: async () => {
      child = new Child('server', ['sh', '-c', `exec ${command}`]);
      await child.waitUntil('ready', () => existsSync(kubeconfig) && answersReady(readConnection(kubeconfig)));
    },
    get pids() {
      return child === undefined ? [] : [listeningProcess(readConnection(kubeconfig).port) ?? child.pid];
    },
  };
  await using stack = new AsyncDisposableStack();
  stack.defer(() => restartable.stop());
  await restartable.start();
  const subject = { name: command, address: readConnection(kubeconfig), pids: restartable.pids, restartable };
  const measurements = await crds(subject, amounts);
  await removeAll(subject, amounts);
  return measurements;
}
