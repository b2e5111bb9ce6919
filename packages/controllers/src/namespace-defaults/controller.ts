import {
  type Client,
  clusterOf,
  type Informer,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  isTerminating,
  type ObjectKey,
  type Resource,
} from '@capstan/client';
import { type Controller, controller, done, ignoring, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type Namespace, namespaceType } from '../namespaces/namespace.ts';
import { accountName, arrival, authorityName, isArriving, reconcileDefaults } from './reconcile.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const maps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

export interface NamespaceDefaultsOptions {
  /** PEM of the authority that signs for the API server; without it no ConfigMap is written. */
  readonly authority: string | undefined;
  readonly concurrency?: number | undefined;
}

const ourAccounts = { fieldSelector: `metadata.name=${accountName}`, metadataOnly: true };
const ourMaps = { fieldSelector: `metadata.name=${authorityName}` };

interface Copies {
  readonly accounts: Informer;
  readonly maps: Informer;
}

/** Watches namespaces, and in each the service account and the ConfigMap that must exist. */
export function namespaceDefaultsController({ authority, concurrency = 4 }: NamespaceDefaultsOptions): Controller<Namespace, Copies> {
  return controller('namespace-defaults')
    .for<Namespace>(namespaceType)
    .reads((informers): Copies => ({ accounts: informers.informer(accounts, ourAccounts), maps: informers.informer(maps, ourMaps) }))
    .watches(accounts, namespaceOf, ourAccounts)
    .watches(maps, namespaceOf, ourMaps)
    .reconcile(({ key, object, client, signal, copies }) => keepDefaults({ key, client, namespace: object, authority, signal, copies }), {
      concurrency,
      backoff: { base: 200, max: 30_000 },
    });
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
  readonly copies: Copies;
}

async function keepDefaults({ key: { cluster, name }, client, namespace, authority, signal, copies }: Work): Promise<Result> {
  const inNamespace = (object: KubeObject): Resource => client.resource(object.kind === 'ConfigMap' ? maps : accounts).in(name);
  const held = (object: string): ObjectKey => ({ cluster, namespace: name, name: object });
  const isWhole = copies.accounts.get(held(accountName)) !== undefined && copies.maps.get(held(authorityName)) !== undefined;
  if (namespace !== undefined && !isWhole && isArriving(namespace, cluster, Date.now())) return requeueAfter(arrival);
  try {
    // Most namespaces are complete, and the copies show it. An object that is missing from them may only be late.
    await reconcileDefaults(namespace, {
      readAccount: async () =>
        copies.accounts.get(held(accountName)) ??
        (await ignoring(client.resource(accounts).in(name).metadata().get(accountName, { signal }), isNotFound)),
      readAuthority: async () =>
        copies.maps.get(held(authorityName)) ?? (await ignoring(client.resource(maps).in(name).get(authorityName, { signal }), isNotFound)),
      create: (object) => inNamespace(object).create(object, { signal }),
      update: (object) => inNamespace(object).update(object, { signal }),
      authority,
    });
    return done;
  } catch (error) {
    // The copies will have it in a moment.
    if (isAlreadyExists(error)) return requeueAfter(50);
    // A workspace exists before it can be entered.
    if (isForbidden(error) && !isTerminating(error) && cluster !== undefined) return requeueAfter(500);
    throw error;
  }
}
