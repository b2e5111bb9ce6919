import { setTimeout as sleep } from 'node:timers/promises';
import { requestText } from '../client/connection.ts';
import { type LoadResult, Pool } from '../client/pool.ts';
import { definitionBody } from '../custom/definition.ts';
import { definitionsPath, removeDefinition, resourcesPath, waitUntilServed } from '../custom/install.ts';
import { resourceBodies } from '../custom/resource.ts';
import { residentMegabytes } from '../measure/memory.ts';
import type { Amounts, Measurement, Profile, Subject } from './profile.ts';

const group = 'load-many.example.com';
/** Results in schemas of 48 fields: most definitions are smaller than the largest. */
const sections = 2;
const clients = 16;
const secondsToFill = 300;

/** The start of a server with many definitions and custom resources. */
export const crds: Profile = async (subject, amounts) => {
  const { restartable } = subject;
  if (restartable === undefined)
    throw new Error(`${subject.name}: the profile crds restarts the server; give --command with the command that starts it`);
  const { definitions, resources } = numbers(amounts);
  await fill(subject, { definitions, resources });
  await restartable.stop();
  const began = performance.now();
  await restartable.start();
  const last = `${resourcesPath(group, plural(definitions - 1))}/r-${resources - 1}`;
  await waitUntilServed(subject.address, last);
  const ready = (performance.now() - began) / 1000;
  await sleep(5_000);
  const memory = residentMegabytes(restartable.pids) ?? Number.NaN;
  const listed = await listAll(subject, definitions);
  await sleep(2_000);
  const memoryListed = residentMegabytes(restartable.pids) ?? Number.NaN;
  const what = `${definitions} CRDs, ${resources} custom resources`;
  return [
    { what: `${what}: start to ready, with the store`, value: ready, unit: 's', better: 'lower' },
    { what: `${what}: memory at rest`, value: memory, unit: 'MB', better: 'lower' },
    { what: `${what}: list of each kind once`, value: listed, unit: 's', better: 'lower' },
    { what: `${what}: memory after these lists`, value: memoryListed, unit: 'MB', better: 'lower' },
  ] satisfies Measurement[];
};

/** Removes everything that the profile created on a server. */
export async function removeAll(subject: Subject, amounts: Amounts): Promise<void> {
  for (let index = 0; index < numbers(amounts).definitions; index++) await removeDefinition(subject.address, `${plural(index)}.${group}`);
}

function numbers(amounts: Amounts): { definitions: number; resources: number } {
  return { definitions: amounts.definitions ?? 500, resources: amounts.count ?? 10_000 };
}

function plural(index: number): string {
  return `kind${index}`;
}

async function fill(subject: Subject, { definitions, resources }: { definitions: number; resources: number }): Promise<void> {
  const { address } = subject;
  const { token } = address;
  using pool = await Pool.open(address, clients);
  const load = { clients, seconds: secondsToFill };
  const made = await pool.run({ ...load, count: definitions }, (index) =>
    requestText({ method: 'POST', path: definitionsPath, body: definitionBody({ group, plural: plural(index), sections }), token }),
  );
  mustHave(subject, made, definitions);
  await listAll(subject, definitions);
  const bodies = Array.from({ length: definitions }, (_, index) =>
    resourceBodies({ apiVersion: `${group}/v1`, kind: `K${plural(index).slice(1)}`, sections }),
  );
  const filled = await pool.run({ ...load, count: resources }, (index) => {
    const kind = index % definitions;
    return requestText({ method: 'POST', path: resourcesPath(group, plural(kind)), body: bodies[kind]!(`r-${index}`), token });
  });
  mustHave(subject, filled, resources);
}

/**
 * Some servers read the resources of a kind at its first use, and turn clients away until then: only after that do they show their full
 * cost. Returns the seconds until each kind was listed.
 */
async function listAll(subject: Subject, definitions: number): Promise<number> {
  const began = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < definitions) await waitUntilServed(subject.address, resourcesPath(group, plural(next++)));
  };
  await Promise.all(Array.from({ length: clients }, work));
  return (performance.now() - began) / 1000;
}

function mustHave(subject: Subject, result: LoadResult, count: number): void {
  if (result.errors === 0 && result.requests === count) return;
  throw new Error(
    `${subject.name}: expected ${count} objects, created ${result.requests - result.errors}; first error: ${result.firstError ?? 'out of time'}`,
  );
}
