import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection as Address } from '@capstan/testbed';
import { ask, mustAsk } from '../client/ask.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { storeMegabytes } from '../measure/store.ts';
import type { Subject } from '../profiles/profile.ts';

export const workspacesIn = (path: string): string => `/clusters/${path}/apis/tenancy.kcp.io/v1alpha1/workspaces`;

export function workspaceBody(name: string, type = 'universal'): string {
  return JSON.stringify({
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name },
    spec: { type: { name: type, path: 'root' } },
  });
}

export interface NamedWorkspace {
  readonly name: string;
  readonly path: string;
}

/** Creates a workspace and waits until it is ready. */
export async function makeWorkspace(
  address: Address,
  { parent, name, type }: { readonly parent: string; readonly name: string; readonly type?: string },
): Promise<NamedWorkspace> {
  const collection = workspacesIn(parent);
  await mustAsk(address, { method: 'POST', path: collection, body: workspaceBody(name, type) });
  for (;;) {
    const { text } = await mustAsk(address, { method: 'GET', path: `${collection}/${name}` });
    if ((JSON.parse(text) as { status?: { phase?: string } }).status?.phase === 'Ready') return { name, path: `${parent}:${name}` };
    await sleep(100);
  }
}

/** A workspace for everything that a run creates. */
export const makeParent = (address: Address, type = 'universal'): Promise<NamedWorkspace> =>
  makeWorkspace(address, { parent: 'root', name: `load-${Date.now().toString(36)}`, type });

/** Resolves when all child workspaces are ready. */
export const untilReady = (address: Address, parent: string): Promise<void> =>
  untilNone(address, `${workspacesIn(parent)}?labelSelector=tenancy.kcp.io%2Fphase!%3DReady`);

/** Polls until a list is empty. One page is enough to tell. */
export async function untilNone(address: Address, path: string): Promise<void> {
  const page = `${path}${path.includes('?') ? '&' : '?'}limit=1`;
  for (;;) {
    const { text, status } = await ask(address, { method: 'GET', path: page });
    if (status === 200 && (JSON.parse(text) as { items: unknown[] }).items.length === 0) return;
    await sleep(100);
  }
}

/** The newest revision of a server. */
export async function revisionOf(address: Address): Promise<number> {
  const { text } = await mustAsk(address, { method: 'GET', path: '/api/v1/namespaces?limit=1' });
  return Number((JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}

/** Waits until a server has forgotten a revision, or the time is up; returns whether it has. */
export async function untilForgotten(address: Address, revision: number, seconds: number): Promise<boolean> {
  const path = `/api/v1/namespaces?resourceVersion=${revision}&resourceVersionMatch=Exact&limit=1`;
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(1_000)) {
    if ((await ask(address, { method: 'GET', path })).status === 410) return true;
  }
  return false;
}

export interface Footprint {
  /** In MB. */
  readonly memory: number;
  readonly store: number;
}

export function footprint({ pids }: Subject): Footprint {
  return { memory: residentMegabytes(pids) ?? Number.NaN, store: storeMegabytes(pids) ?? Number.NaN };
}
