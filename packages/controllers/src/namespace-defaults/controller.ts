import {
  type Client,
  clusterOf,
  type InformerFactory,
  type InformerSelection,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  isTerminating,
  type ObjectKey,
  type Resource,
  type ResourceType,
} from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter, whenOutdated } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { informed } from '../informed.ts';
import { type Namespace, namespaceType } from '../namespaces/namespace.ts';
import { accountName, authorityName, reconcileDefaults } from './reconcile.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const maps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

export interface NamespaceDefaultsOptions {
  /** PEM of the authority that signs for the API server; nothing is published without it. */
  readonly authority: string | undefined;
  readonly concurrency?: number | undefined;
}

const ourAccounts = { fieldSelector: `metadata.name=${accountName}`, metadataOnly: true };
const ourMaps = { fieldSelector: `metadata.name=${authorityName}` };

/** Watches namespaces, and in each the one account and the one ConfigMap that must be there. */
export function namespaceDefaultsController({ authority, concurrency = 4 }: NamespaceDefaultsOptions): Runnable {
  return informed((informers) =>
    controller('namespace-defaults')
      .for<Namespace>(namespaceType)
      .watches(accounts, namespaceOf, ourAccounts)
      .watches(maps, namespaceOf, ourMaps)
      .reconcile(
        ({ key, object, client, signal }) => keepDefaults({ key, client, namespace: object, authority, signal, informers: informers() }),
        {
          concurrency,
          backoff: { base: 200, max: 30_000 },
        },
      ),
  );
}

function namespaceOf(object: KubeObject): ObjectKey[] {
  const cluster = clusterOf(object);
  return [{ ...(cluster !== undefined && { cluster }), name: object.metadata.namespace ?? '' }];
}

interface Work {
  readonly key: ObjectKey;
  readonly client: Client;
  readonly namespace: Namespace | undefined;
  readonly authority: string | undefined;
  readonly signal: AbortSignal;
  readonly informers: InformerFactory;
}

async function keepDefaults({ key: { cluster, name }, client, namespace, authority, signal, informers }: Work): Promise<Result> {
  const inNamespace = (object: KubeObject): Resource => client.resource(object.kind === 'ConfigMap' ? maps : accounts).in(name);
  // Most namespaces have what they need, and the copies know it. What they do not know may be on its way.
  const known = (type: ResourceType, selection: InformerSelection, object: string): KubeObject | undefined =>
    informers.informer(type, selection).get({ cluster, namespace: name, name: object });
  try {
    await reconcileDefaults(namespace, {
      readAccount: async () =>
        known(accounts, ourAccounts, accountName) ??
        (await found(client.resource(accounts).in(name).metadata().get(accountName, { signal }))),
      readAuthority: async () =>
        known(maps, ourMaps, authorityName) ?? (await found(client.resource(maps).in(name).get(authorityName, { signal }))),
      create: (object) => inNamespace(object).create(object, { signal }),
      update: (object) => inNamespace(object).update(object, { signal }),
      authority,
    });
    return done;
  } catch (error) {
    if (isAlreadyExists(error)) return requeueAfter(50);
    // The copies may not know yet that the namespace is ending; namespaces of a workspace that ends stay until it is empty.
    if (isTerminating(error)) return done;
    // A workspace is written before it can be entered.
    if (isForbidden(error) && cluster !== undefined) return requeueAfter(500);
    return whenOutdated(error);
  }
}

async function found(reading: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
