import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, requestText, secureContext } from '../client/connection.ts';
import { Latencies } from '../measure/latencies.ts';
import { configMaps, type HostileWorld } from './world.ts';

export interface Felt {
  readonly gets: Latencies;
  readonly writes: Latencies;
  failed: number;
}

/** The victim's own work must not wait for the attacker's. Only root may do this; without it, the numbers are worse on a machine with few processors. */
export function preferThisThread(): void {
  try {
    setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch {
    process.stderr.write('the victim has no priority over the attackers: that takes root\n');
  }
}

/** Reads and writes in turn, with a pause as people and controllers have, until something is over. */
export async function feel(
  { address, victim }: Pick<HostileWorld, 'address' | 'victim'>,
  over: Promise<unknown>,
  onWait: (milliseconds: number) => void = () => {},
): Promise<Felt> {
  const felt: Felt = { gets: new Latencies(10_000), writes: new Latencies(10_000), failed: 0 };
  let isOver = false;
  void over.then(() => (isOver = true));
  const anybody = { ...address, certificate: undefined, key: undefined };
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => {});
  const connection = await Connection.open({ ...anybody, token: victim.token }, secureContext(anybody), reject);
  const send = async (text: string, latencies: Latencies): Promise<void> => {
    const began = performance.now();
    const status = await Promise.race([new Promise<number>((resolve) => connection.send(text, resolve)), lost]);
    const waited = performance.now() - began;
    latencies.add(waited);
    onWait(waited);
    if (status >= 400) felt.failed++;
  };
  const { token } = victim;
  const path = configMaps(victim.cluster);
  const body = JSON.stringify({ metadata: { generateName: 'own-' }, data: { a: 'b' } });
  while (!isOver) {
    await send(requestText({ method: 'POST', path, body, token }), felt.writes);
    await send(requestText({ method: 'GET', path: `${path}/kube-root-ca.crt`, token }), felt.gets).catch(() => {});
    await sleep(5);
  }
  connection.close();
  return felt;
}
