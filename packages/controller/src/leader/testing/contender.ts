import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { LeaderElector } from '../elector.ts';

/** One contender as a process of its own. It writes a line for every moment at which it believes that it leads. */
const { kubeconfig, server, log, identity, skew } = JSON.parse(process.argv[2]!) as Record<string, string>;

let wallOffset = Number(skew);
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
process.on('SIGUSR2', () => {
  wallOffset += Math.random() < 0.5 ? 3_600_000 : -3_600_000;
});
process.on('disconnect', () => process.exit(1));

const client = new Client({ ...connectionOf(loadKubeconfig({ path: kubeconfig! })), server: server! });
const elector = new LeaderElector({
  client,
  namespace: 'default',
  name: 'contended',
  identity: identity!,
  leaseDuration: 1000,
  renewDeadline: 600,
  retryPeriod: 100,
  clock: { monotonic: () => performance.now(), wall: () => Date.now() + wallOffset },
});

await elector.run(stop.signal, async (term) => {
  while (!term.signal.aborted) {
    // The time is read before the check: a pause between the two can only make the claim older, never false.
    const at = process.hrtime.bigint();
    if (term.isLeading()) appendFileSync(log!, `${term.token} ${at} ${identity}\n`);
    await sleep(2);
  }
});
client[Symbol.dispose]();
process.exit(0);
