import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection as Address } from '@capstan/testbed';
import { ask, mustAsk } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { storeMegabytes } from '../measure/store.ts';
import type { Measurement, Profile, Subject } from './profile.ts';

const clients = 32;
const gets = 4_000;

/** Many workspaces: made, used, and deleted; what each costs, and whether it comes back. Give the controller-manager with --pids: it makes them, and its memory counts. */
export const workspaces: Profile = async (subject, amounts) => {
  const count = amounts.count ?? 10_000;
  const parent = await makeParent(subject.address);
  const collection = `/clusters/${parent.path}/apis/tenancy.kcp.io/v1alpha1/workspaces`;
  const load = { clients, seconds: amounts.seconds };
  using pool = await Pool.open(subject.address, clients);
  const { token } = subject.address;
  const read = (path: string) =>
    pool.run({ ...load, count: gets }, () =>
      requestText({ method: 'GET', path: `${path}/api/v1/namespaces/default/configmaps/kube-root-ca.crt`, token }),
    );

  const before = await footprint(subject);
  const alone = await read(`/clusters/${parent.path}`);
  const began = performance.now();
  const made = await pool.run({ ...load, count }, (index) =>
    requestText({ method: 'POST', path: collection, body: workspaceBody(index), token }),
  );
  if (made.errors > 0 || made.requests < count)
    throw new Error(`${made.errors} of ${count} could not be made; the first: ${made.firstError}`);
  await untilNone(subject.address, `${collection}?labelSelector=tenancy.kcp.io%2Fphase!%3DReady`);
  const creating = (performance.now() - began) / 1000;
  await sleep(5_000);
  const full = await footprint(subject);
  const crowded = await read(`/clusters/${parent.path}:w-${Math.floor(count / 2)}`);
  const deletion = performance.now();
  await mustAsk(subject.address, { method: 'DELETE', path: collection });
  await untilNone(subject.address, collection);
  const deleting = (performance.now() - deletion) / 1000;
  await mustAsk(subject.address, { method: 'DELETE', path: `/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${parent.name}` });
  await sleep(20_000);
  const after = await footprint(subject);
  const what = `${count} workspaces`;
  return [
    { what: `${what}: created and ready`, value: count / creating, unit: 'per second', better: 'higher' },
    { what: `${what}: memory of each`, value: (1024 * (full.memory - before.memory)) / count, unit: 'KiB', better: 'lower' },
    { what: `${what}: store of each`, value: (1024 * (full.store - before.store)) / count, unit: 'KiB', better: 'lower' },
    { what: 'gets in a workspace that is alone', value: alone.requests / alone.seconds, unit: 'per second', better: 'higher' },
    { what: `gets in one of ${count}`, value: crowded.requests / crowded.seconds, unit: 'per second', better: 'higher' },
    { what: `${what}: deleted`, value: deleting, unit: 's', better: 'lower' },
    { what: `${what}: memory that did not come back`, value: after.memory - before.memory, unit: 'MB', better: 'lower' },
  ] satisfies Measurement[];
};

async function makeParent(address: Address): Promise<{ name: string; path: string }> {
  const name = `load-${Date.now().toString(36)}`;
  const collection = '/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces';
  const body = {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name },
    spec: { type: { name: 'universal', path: 'root' } },
  };
  await mustAsk(address, { method: 'POST', path: collection, body: JSON.stringify(body) });
  for (;;) {
    const { text } = await mustAsk(address, { method: 'GET', path: `${collection}/${name}` });
    if ((JSON.parse(text) as { status?: { phase?: string } }).status?.phase === 'Ready') return { name, path: `root:${name}` };
    await sleep(100);
  }
}

function workspaceBody(index: number): string {
  return JSON.stringify({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name: `w-${index}` },
    spec: { type: { name: 'universal', path: 'root' } },
  });
}

/** Asks until a list is empty. One page is asked for: it says as much. */
async function untilNone(address: Address, path: string): Promise<void> {
  const page = `${path}${path.includes('?') ? '&' : '?'}limit=1`;
  for (;;) {
    const { text, status } = await ask(address, { method: 'GET', path: page });
    if (status === 200 && (JSON.parse(text) as { items: unknown[] }).items.length === 0) return;
    await sleep(100);
  }
}

async function footprint({ pids }: Subject): Promise<{ memory: number; store: number }> {
  return { memory: residentMegabytes(pids) ?? Number.NaN, store: storeMegabytes(pids) ?? Number.NaN };
}
