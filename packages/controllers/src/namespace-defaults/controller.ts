import { type Client, isAlreadyExists, isConflict, isForbidden, isNotFound, type ObjectKey, type Resource } from '@capstan/client';
import { type Controller, controller, type Result, requeueAfter } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type Namespace, namespaceType } from '../namespaces/namespace.ts';
import { accountName, authorityName, reconcileDefaults } from './reconcile.ts';

const accounts = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const maps = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };

export interface NamespaceDefaultsOptions {
  /** PEM of the authority that signs for the API server; nothing is published without it. */
  readonly authority: string | undefined;
  readonly concurrency?: number | undefined;
}

/** Watches namespaces, and in each the one account and the one ConfigMap that must be there. */
export function namespaceDefaultsController({ authority, concurrency = 4 }: NamespaceDefaultsOptions): Controller<Namespace> {
  return controller('namespace-defaults')
    .for<Namespace>(namespaceType)
    .watches(accounts, namespaceOf, { fieldSelector: `metadata.name=${accountName}`, metadataOnly: true })
    .watches(maps, namespaceOf, { fieldSelector: `metadata.name=${authorityName}` })
    .reconcile(({ key, object, client, signal }) => keepDefaults({ client, namespace: object, name: key.name, authority, signal }), {
      concurrency,
      backoff: { base: 200, max: 30_000 },
    });
}

function namespaceOf({ metadata }: KubeObject): ObjectKey[] {
  return [{ name: metadata.namespace ?? '' }];
}

interface Work {
  readonly client: Client;
  readonly namespace: Namespace | undefined;
  readonly name: string;
  readonly authority: string | undefined;
  readonly signal: AbortSignal;
}

async function keepDefaults({ client, namespace, name, authority, signal }: Work): Promise<Result> {
  const inNamespace = (object: KubeObject): Resource => client.resource(object.kind === 'ConfigMap' ? maps : accounts).in(name);
  try {
    await reconcileDefaults(namespace, {
      readAccount: () => found(client.resource(accounts).in(name).metadata().get(accountName, { signal })),
      readAuthority: () => found(client.resource(maps).in(name).get(authorityName, { signal })),
      create: (object) => inNamespace(object).create(object, { signal }),
      update: (object) => inNamespace(object).update(object, { signal }),
      authority,
    });
    return { type: 'done' };
  } catch (error) {
    if (isConflict(error) || isAlreadyExists(error)) return requeueAfter(50);
    // The namespace is ending or gone, and the copy does not know it yet.
    if (isNotFound(error) || (isForbidden(error) && isTerminating(error.status))) return { type: 'done' };
    throw error;
  }
}

function isTerminating({ details }: { readonly details?: { readonly causes?: readonly { readonly reason?: string }[] } }): boolean {
  return (details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating');
}

async function found(reading: Promise<KubeObject>): Promise<KubeObject | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
