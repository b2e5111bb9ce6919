import { rootCluster } from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { StoreError } from '@capstan/store';
import type { Serving } from '../handlers/serving.ts';
import type { RequestContext } from '../registry/context.ts';
import { create } from '../registry/create.ts';
import { deleteObject } from '../registry/delete.ts';
import { cachedEntry } from '../registry/objects.ts';
import { update } from '../registry/update.ts';
import { serverContext } from '../upkeep/context.ts';
import { type ServerAddress, serverObjects } from './core.ts';
import { bootstrapObjects } from './objects.ts';
import { type Repair, repairs } from './reconcile.ts';

const manager = 'kube-apiserver';

/** Writes the objects without which nothing works, and puts back what was taken from them. Safe to run again, and beside other servers that do the same. */
export async function bootstrap(serving: Serving, now: () => Date): Promise<void> {
  const context = systemContext(serving, now);
  const wanted = repairs(bootstrapObjects(now()), serving.cache, rootCluster);
  // Namespaces first: what lies in them needs them.
  const [namespaces, others] = [
    wanted.filter(({ object }) => object.kind === 'Namespace'),
    wanted.filter(({ object }) => object.kind !== 'Namespace'),
  ];
  await Promise.all(namespaces.map((repair) => mend(serving, context, repair)));
  await Promise.all(others.map((repair) => mend(serving, context, repair)));
}

/** The context of what the server does on its own where nobody named a workspace. */
export function systemContext(serving: Serving, now: () => Date): RequestContext {
  return serverContext({ cluster: rootCluster, objects: serving.cache, now });
}

/** An address that only this machine can reach is none that could be an endpoint. */
export function published(address: ServerAddress): KubeObject[] {
  const isLoopback = address.endpoints.every((one) => one.address === '::1' || one.address.startsWith('127.'));
  return serverObjects(address).filter(({ kind }) => !isLoopback || (kind !== 'Endpoints' && kind !== 'EndpointSlice'));
}

/** Creates the objects, or makes those that are there the same. One that is the same already is not written. */
export async function putObjects(serving: Serving, now: () => Date, objects: readonly KubeObject[]): Promise<void> {
  const context = systemContext(serving, now);
  await Promise.all(
    objects.map(async (object) => {
      const resource = serving.catalog.ofObject(object);
      const { name = '', namespace = '' } = object.metadata;
      const isThere = cachedEntry(serving, context, { resource, namespace, name }) !== undefined;
      await mend(serving, context, { action: isThere ? 'update' : 'create', resource, object });
    }),
  );
}

/** Those of the objects that are not there. */
export async function makeMissing(serving: Serving, now: () => Date, objects: readonly KubeObject[]): Promise<void> {
  const context = systemContext(serving, now);
  await Promise.all(
    objects.map(async (object) => {
      const resource = serving.catalog.ofObject(object);
      const { name = '', namespace = '' } = object.metadata;
      if (cachedEntry(serving, context, { resource, namespace, name }) === undefined)
        await mend(serving, context, { action: 'create', resource, object });
    }),
  );
}

async function mend(serving: Serving, context: RequestContext, repair: Repair): Promise<void> {
  const { object } = repair;
  const resource = serving.catalog.ofObject(object);
  const { name = '', namespace = '' } = object.metadata;
  const target = { resource, namespace, name };
  try {
    if (repair.action === 'update') {
      await update(serving, context, {
        ...target,
        subresource: '',
        manager,
        dryRun: false,
        change: (old) => ({ object: withRevision(structuredClone(object), old) }),
      });
      return;
    }
    if (repair.action === 'recreate') await deleteObject(serving, context, { ...target, options: {}, dryRun: false });
    await create(serving, context, { resource, namespace, object: structuredClone(object), manager, dryRun: false });
  } catch (error) {
    if (!madeElsewhere(error)) throw error;
  }
}

/** Some kinds are only changed by those who say which version they have seen. */
function withRevision(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return { ...object, metadata: { ...(resourceVersion !== undefined && { resourceVersion }), ...object.metadata } };
}

/** Another server was quicker. */
function madeElsewhere(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'exists' || error.code === 'conflict';
  return error instanceof Error && 'reason' in error && (error.reason === 'AlreadyExists' || error.reason === 'Conflict');
}
