import { type Allocation, allocationKind, newObject } from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { Failure } from '../failure.ts';
import { followChanges, tellTrouble } from '../following.ts';
import { type Column, printList, printOne } from '../output.ts';
import { watchObject } from '../units/watch.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import { isMissingKind, onceServed } from '../workspaces/once-served.ts';
import type { OutputFlags } from './offering.ts';

export interface AllocationFlags extends OutputFlags {
  readonly namespace: string;
  readonly watch?: boolean;
}

export interface OrderFlags {
  readonly offering: string;
  readonly nodes?: number;
  readonly topology?: string;
  readonly priority?: number;
}

const partsOf = ({ status }: Allocation): string | undefined =>
  status?.parts
    ?.map(({ node, devices }) => (devices.length === 0 ? node : `${node} (${devices.length} GPU${devices.length === 1 ? '' : 's'})`))
    .join(', ');

const table: readonly Column<Allocation>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'OFFERING', value: ({ spec }) => spec.offering },
  { name: 'NODES', value: ({ spec }) => spec.nodes },
  { name: 'PHASE', value: ({ status }) => status?.phase ?? 'Pending' },
  { name: 'ON', value: partsOf },
  { name: 'MESSAGE', value: ({ status }) => status?.message },
  { name: 'PRIORITY', value: ({ spec }) => spec.priority, isWide: true },
  { name: 'DEVICES', value: ({ status }) => status?.parts?.flatMap(({ devices }) => devices).join(','), isWide: true },
];

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const of = (client: Client, namespace: string): Resource<Allocation> => client.resource<Allocation>(allocationKind).in(namespace);

/** With `watch`, ends when the allocation is granted. */
export async function createAllocation(name: string, { namespace, watch, output, ...flags }: AllocationFlags & OrderFlags): Promise<void> {
  using client = workspaceClient(flags);
  const allocation = newObject(allocationKind, { metadata: { name, namespace }, spec: orderOf(flags) }) as Allocation;
  const created = await served(client, () => of(client, namespace).create(allocation));
  if (watch !== true) {
    printOne(created, { output, table });
    if (output === undefined) write(`Next: capstan allocation show ${name} --watch`);
    return;
  }
  const isSettled = ({ status }: Allocation): boolean => status?.phase === 'Active' || status?.phase === 'Failed';
  await follow(of(client, namespace), created, isSettled);
}

export function orderOf({ offering, nodes = 1, topology, priority = 0 }: OrderFlags): Allocation['spec'] {
  return { offering, nodes, priority, ...(topology !== undefined && { topology: { label: topology, strength: 'Required' } }) };
}

export async function listAllocations({ namespace, output, watch, ...flags }: AllocationFlags): Promise<void> {
  using client = workspaceClient(flags);
  const resource = of(client, namespace);
  const { items, metadata } = await served(client, () => resource.list());
  printList(items, { output, table, empty: 'No allocations. Order one with "capstan allocation create <name> --offering <offering>".' });
  if (watch !== true) return;
  const { resourceVersion } = metadata;
  await followChanges(resource, { resourceVersion, items, lineOf: stateOf, nameOf: ({ metadata: { name = '' } }) => name, write });
}

export async function showAllocation(name: string, { namespace, output, watch, ...flags }: AllocationFlags): Promise<void> {
  using client = workspaceClient(flags);
  const found = await existing(name, of(client, namespace).get(name));
  printOne(found, { output, table });
  if (watch === true) await follow(of(client, namespace), found, () => false);
}

/** With `watch`, ends when its devices are released. */
export async function deleteAllocation(name: string, { namespace, watch, ...flags }: AllocationFlags): Promise<void> {
  using client = workspaceClient(flags);
  const found = await existing(name, of(client, namespace).get(name));
  await existing(name, of(client, namespace).delete(name));
  write(`${name}: its devices are being released`);
  if (watch === true) await follow(of(client, namespace), found, () => false);
}

/** Prints each new state, until one is the last or the allocation is deleted. */
async function follow(resource: Resource<Allocation>, from: Allocation, isLast: (allocation: Allocation) => boolean): Promise<void> {
  const { name = '', uid } = from.metadata;
  let printed = `${name}: ${stateOf(from)}`;
  for await (const object of watchObject(resource, { name, uid, from, onTrouble: tellTrouble })) {
    const line = `${name}: ${stateOf(object)}`;
    if (line !== printed) write((printed = line));
    if (isLast(object)) return;
  }
  write(`${name}: released and deleted`);
}

function stateOf(allocation: Allocation): string {
  const { metadata, status } = allocation;
  const phase = metadata.deletionTimestamp === undefined ? (status?.phase ?? 'Pending') : 'Releasing';
  const details = phase === 'Active' ? `on ${partsOf(allocation)}` : status?.message;
  return `${phase}${details === undefined ? '' : `, ${details}`}`;
}

async function existing<T>(name: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) throw new Failure('usage', `there is no allocation ${name} here; "capstan allocation list" lists all.`, error);
    throw error;
  }
}

/** Only projects and homes bind the product. */
async function served<T>(client: Client, request: () => Promise<T>): Promise<T> {
  try {
    return await onceServed({ client, kind: allocationKind }, request);
  } catch (error) {
    if (isMissingKind(error))
      throw new Failure('usage', 'this workspace has no allocations: go to a project or your home with "capstan ws use".', error);
    throw error;
  }
}
