import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Port } from './description.ts';

const tryEvery = 50;

/** Resolves when all ports accept connections, or with the signal. */
export async function untilListening(ports: readonly Port[], signal: AbortSignal): Promise<void> {
  for (const port of ports) {
    while (!signal.aborted && !(await accepts(port))) await sleep(tryEvery, undefined, { signal }).catch(() => {});
  }
}

function accepts({ host, port }: Port): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 });
    const answer = (accepted: boolean): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
    socket.once('timeout', () => answer(false));
  });
}
