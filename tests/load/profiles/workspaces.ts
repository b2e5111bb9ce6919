import { setTimeout as sleep } from 'node:timers/promises';
import { mustAsk } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';
import { makeProjectType } from '../tenancy/project-type.ts';
import { footprint, makeParent, makeWorkspace, untilNone, untilReady, workspaceBody, workspacesIn } from '../tenancy/workspaces.ts';
import type { Measurement, Profile } from './profile.ts';

const clients = 32;
const gets = 4_000;

/**
 * Many workspaces, created, used and deleted: the cost of each, and whether its memory is freed. Give the controller-manager with --pids:
 * it creates them, and its memory counts. With --crds N they are projects whose type binds N products.
 */
export const workspaces: Profile = async (subject, amounts) => {
  const count = amounts.count ?? 10_000;
  const parent = await makeParent(subject.address, amounts.definitions === undefined ? 'universal' : 'organization');
  const type = amounts.definitions === undefined ? undefined : await makeProjectType(subject.address, amounts.definitions);
  const collection = workspacesIn(parent.path);
  const load = { clients, seconds: amounts.seconds };
  using pool = await Pool.open(subject.address, clients);
  const { token } = subject.address;
  const read = (path: string) =>
    pool.run({ ...load, count: gets }, () =>
      requestText({ method: 'GET', path: `${path}/api/v1/namespaces/default/configmaps/kube-root-ca.crt`, token }),
    );

  // The first binding copies the schemas, once for all.
  if (type !== undefined) await makeWorkspace(subject.address, { parent: parent.path, name: 'first', type });
  const before = footprint(subject);
  const alone = await read(`/clusters/${parent.path}`);
  const began = performance.now();
  const made = await pool.run({ ...load, count }, (index) =>
    requestText({ method: 'POST', path: collection, body: workspaceBody(`w-${index}`, type), token }),
  );
  if (made.errors > 0 || made.requests < count)
    throw new Error(`${made.errors} of ${count} could not be created; the first: ${made.firstError}`);
  await untilReady(subject.address, parent.path);
  const creating = (performance.now() - began) / 1000;
  await sleep(5_000);
  const full = footprint(subject);
  const crowded = await read(`/clusters/${parent.path}:w-${Math.floor(count / 2)}`);
  const deletion = performance.now();
  await mustAsk(subject.address, { method: 'DELETE', path: collection });
  await untilNone(subject.address, collection);
  const deleting = (performance.now() - deletion) / 1000;
  await mustAsk(subject.address, { method: 'DELETE', path: `${workspacesIn('root')}/${parent.name}` });
  await sleep(20_000);
  const after = footprint(subject);
  const what = type === undefined ? `${count} workspaces` : `${count} projects with ${amounts.definitions} products`;
  return [
    { what: `${what}: created and ready`, value: count / creating, unit: 'per second', better: 'higher' },
    { what: `${what}: memory each`, value: (1024 * (full.memory - before.memory)) / count, unit: 'KiB', better: 'lower' },
    { what: `${what}: store each`, value: (1024 * (full.store - before.store)) / count, unit: 'KiB', better: 'lower' },
    { what: 'gets in the only workspace', value: alone.requests / alone.seconds, unit: 'per second', better: 'higher' },
    { what: `gets in one of ${count}`, value: crowded.requests / crowded.seconds, unit: 'per second', better: 'higher' },
    { what: `${what}: deleted`, value: deleting, unit: 's', better: 'lower' },
    { what: `${what}: memory not freed`, value: after.memory - before.memory, unit: 'MB', better: 'lower' },
  ] satisfies Measurement[];
};
