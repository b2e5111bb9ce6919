import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiBinding,
  type ApiExport,
  apiBindingKind,
  apiExportKind,
  apiResourceSchemaKind,
  type KindReference,
  platformWorkspace,
  rootCluster,
  type Workspace,
  type WorkspaceType,
  workspaceKind,
  workspaceTypeKind,
} from '@capstan/api';
import { renewed } from '@capstan/api/hashes';
import { type Client, isAlreadyExists, isConflict, isNotFound } from '@capstan/client';
import { ignoring, type Runnable } from '@capstan/controller';
import { Backoff, type BackoffLimits, type KubeObject, sameJson } from '@capstan/machinery';
import type { Product } from '../product.ts';
import { checkProducts } from './check.ts';
import { type InstallActions, NotYet, namespaceKind } from './install.ts';
import { productsNamespace, statesName } from './names.ts';
import { accountsNamespace } from './objects.ts';
import { type ContentActions, type ProductStates, reconcileContent } from './reconcile.ts';
import { deleteSuperseded, type SchemaActions } from './superseded.ts';

const configMapKind: KindReference = { group: '', version: 'v1', resource: 'configmaps', namespaced: true, kind: 'ConfigMap' };

export interface ContentOptions {
  /** In milliseconds: how often everything is compared again once it is installed, in case somebody changed it. */
  readonly interval?: number;
  /** How long to wait before what is not installed yet is tried again. */
  readonly retry?: BackoffLimits;
  /** Called after each round. */
  readonly onStates?: (states: ProductStates) => void;
}

/**
 * Installs what products need, and upgrades it or rolls it back when another version of the program starts. Its client is that of
 * `system:capstan:platform-controllers`, at the server itself.
 */
export function platformContent(
  products: readonly Product[],
  { interval = 60_000, retry = { base: 200, max: 30_000 }, onStates }: ContentOptions = {},
): Runnable {
  checkProducts(products);
  return {
    name: 'platform-content',
    async run({ client, signal, isLeading, onError }) {
      const backoff = new Backoff(retry);
      const reported = new Map<string, string | undefined>();
      const actions = serverActions(client, signal);
      const schemas = schemaActions(client, signal);
      let before = '';
      while (!signal.aborted && isLeading()) {
        const states = await reconcileContent(products, actions).catch((error: unknown) => {
          if (!signal.aborted) onError(error, { cluster: rootCluster, name: 'platform' });
          return undefined;
        });
        if (signal.aborted) return;
        if (states !== undefined) onStates?.(states);
        // Each failure is reported when it appears, not at every attempt.
        for (const [name, { state, message }] of states ?? []) {
          const failure = state === 'Failed' ? message : undefined;
          if (failure !== undefined && failure !== reported.get(name))
            onError(new Error(`product ${name} is not installed: ${failure}`), { cluster: platformWorkspace, name });
          reported.set(name, failure);
        }
        const isDone = states !== undefined && [...states.values()].every(({ state }) => state === 'Installed');
        if (isDone)
          await deleteSuperseded(products, schemas).catch((error: unknown) => {
            if (!signal.aborted) onError(error, { cluster: platformWorkspace, name: 'apiresourceschemas' });
          });
        // Waits grow only while nothing moves: an installation takes several steps, each of which waits for a controller.
        const now = states === undefined ? before : JSON.stringify([...states]);
        if (isDone || now !== before) backoff.reset();
        before = now;
        await sleep(isDone ? interval : backoff.next(), undefined, { signal }).catch(() => {});
      }
    },
  };
}

function serverActions(client: Client, signal: AbortSignal): ContentActions {
  const root = client.cluster(rootCluster);
  const platform = platformActions(client.cluster(platformWorkspace), signal);
  const types = root.resource<WorkspaceType>(workspaceTypeKind);
  return {
    platform,
    isReady: async () => {
      const found = await ignoring(root.resource<Workspace>(workspaceKind).get('platform', { signal }), isNotFound);
      return found?.status?.phase === 'Ready';
    },
    getType: (name) => ignoring(types.get(name, { signal }), isNotFound),
    updateType: (type) => orNotYet(types.update(type, { signal })),
    report: async (states) => {
      const data = Object.fromEntries(
        [...states].map(([name, { state, message }]) => [name, message === undefined ? state : `${state}: ${message}`]),
      );
      const metadata = { name: statesName, namespace: productsNamespace };
      await platform.ensure(namespaceKind, accountsNamespace());
      await platform.put(configMapKind, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
    },
  };
}

function platformActions(client: Client, signal: AbortSignal): InstallActions {
  const find = <T extends KubeObject>(kind: KindReference, { name = '', namespace }: KubeObject['metadata']): Promise<T | undefined> =>
    ignoring(client.resource<T>(kind).get({ name, namespace }, { signal }), isNotFound);
  return {
    get: (kind, name) => find(kind, { name }),
    ensure: async (kind, object) => {
      if ((await find(kind, object.metadata)) === undefined)
        await ignoring(client.resource(kind).create(object, { signal }), isAlreadyExists);
    },
    renew: async (kind, object) => {
      try {
        const existing = await find(kind, object.metadata);
        if (existing === undefined) await orNotYet(client.resource(kind).create(object, { signal }));
        const changed = existing && renewed(existing, object);
        if (changed !== undefined) await orNotYet(client.resource(kind).update(changed, { signal }));
        return true;
      } catch (error) {
        if (isNotFound(error)) return false;
        throw error;
      }
    },
    put: async <T extends KubeObject>(kind: KindReference, object: T): Promise<T> => {
      const existing = await find<T>(kind, object.metadata);
      if (existing === undefined) return orNotYet(client.resource<T>(kind).create(object, { signal }));
      const changed = merged(existing, object);
      return changed === existing ? existing : orNotYet(client.resource<T>(kind).update(changed, { signal }));
    },
  };
}

function schemaActions(client: Client, signal: AbortSignal): SchemaActions {
  const platform = client.cluster(platformWorkspace);
  return {
    schemas: async () => (await platform.resource(apiResourceSchemaKind).metadata().list({ signal })).items,
    exports: async () => (await platform.resource<ApiExport>(apiExportKind).list({ signal })).items,
    boundSchemas: async (exported) => {
      const names = new Set<string>();
      const view = client.under(`/services/apiexport/${platformWorkspace}/${exported}/clusters/*`);
      for await (const { items } of view.resource<ApiBinding>(apiBindingKind).pages({ signal }))
        for (const { status } of items) for (const { schema } of status?.boundResources ?? []) names.add(schema.name);
      return names;
    },
    deleteSchema: ({ metadata: { name = '', uid = '' } }) =>
      ignoring(platform.resource(apiResourceSchemaKind).delete(name, { preconditions: { uid }, signal }), isNotFound),
  };
}

/** Somebody else wrote at the same time: the next round sees it. */
async function orNotYet<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isConflict(error) && !isAlreadyExists(error)) throw error;
    throw new NotYet('somebody else is writing the same object');
  }
}

/** The existing object with the wanted fields, and those of its spec that others own; the same object if nothing changes. */
function merged<T extends KubeObject>(existing: T, wanted: T): T {
  const { metadata: _, spec, ...fields } = wanted;
  const next = { ...existing, ...fields };
  // A field that is explicitly undefined is removed.
  const changed = Object.entries({ ...(existing['spec'] as object | undefined), ...(spec as object | undefined) });
  if (spec !== undefined) (next as KubeObject)['spec'] = Object.fromEntries(changed.filter(([, value]) => value !== undefined));
  return sameJson(existing, next) ? existing : next;
}
