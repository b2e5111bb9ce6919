/**
 * The thread that attacks, so that its work does not delay the victim's requests in the generator. It is nice to the rest: an attacker has
 * machines of its own, and this one shares its processors with the server and the victim.
 */

import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { connect } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import { attacks } from './attacks.ts';
import { exchange, type Request, textOf } from './means.ts';
import type { World } from './world.ts';

// Of this thread only: on Linux, threads have priorities of their own.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const { name, world, seconds } = workerData as { name: string; world: World; seconds: number };
const attack = attacks.get(name)!;
const answers = new Map<string, number>();

async function prepare(requests: readonly Request[]): Promise<void> {
  if (requests.length === 0) return;
  const socket = connect({ host: world.host, port: world.port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  for (const request of requests) {
    const status = await exchange(socket, textOf(world, request));
    if (status !== undefined && status >= 400) answers.set(`${status} to prepare`, 1);
  }
  socket.destroy();
}

await prepare(attack.before?.(world) ?? []);
parentPort!.postMessage('began');
const stop = new AbortController();
setTimeout(() => stop.abort(), seconds * 1000);
await attack.run(world, (answer) => answers.set(answer, (answers.get(answer) ?? 0) + 1), stop.signal);
await prepare(attack.after?.(world) ?? []).catch(() => {});
parentPort!.postMessage(Object.fromEntries(answers));
