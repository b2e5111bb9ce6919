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

/** Writes the default objects and repairs those that were changed. Safe to repeat, and to run on several servers at once. */
export async function bootstrap(serving: Serving, now: () => Date): Promise<void> {
  const context = systemContext(serving, now);
  const wanted = repairs(bootstrapObjects(now()), serving.cache, rootCluster);
  // Namespaces first: other objects are created in them.
  const [namespaces, others] = [
    wanted.filter(({ object }) => object.kind === 'Namespace'),
    wanted.filter(({ object }) => object.kind !== 'Namespace'),
  ];
  await Promise.all(namespaces.map((repair) => mend(serving, context, repair)));
  await Promise.all(others.map((repair) => mend(serving, context, repair)));
}

/** The context of the server's own writes to the root workspace. */
export function systemContext(serving: Serving, now: () => Date): RequestContext {
  return serverContext({ cluster: rootCluster, objects: serving.cache, now });
}

/** Without Endpoints and EndpointSlices if the address is a loopback one, which no other machine can reach. */
export function published(address: ServerAddress): KubeObject[] {
  const isLoopback = address.endpoints.every((one) => one.address === '::1' || one.address.startsWith('127.'));
  return serverObjects(address).filter(({ kind }) => !isLoopback || (kind !== 'Endpoints' && kind !== 'EndpointSlice'));
}

/** Creates or overwrites the objects. Unchanged objects are not written. */
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

/** Creates the missing objects. */
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

/** Some kinds can only be updated with a resourceVersion. */
function withRevision(object: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return { ...object, metadata: { ...(resourceVersion !== undefined && { resourceVersion }), ...object.metadata } };
}

/** Whether another server was faster. */
function madeElsewhere(error: unknown): boolean {
  if (error instanceof StoreError) return error.code === 'exists' || error.code === 'conflict';
  return error instanceof Error && 'reason' in error && (error.reason === 'AlreadyExists' || error.reason === 'Conflict');
}
