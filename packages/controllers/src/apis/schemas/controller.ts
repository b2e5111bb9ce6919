import { type ApiBinding, apiBindingKind, apiConversionKind, apiResourceSchemaKind, boundSchemasCluster } from '@capstan/api';
import { clusterOf, isNotFound } from '@capstan/client';
import { type Controller, controller, ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { SharingCaches } from '../caches.ts';
import { copyName, uidOfCopy } from './copies.ts';
import { reconcileCopy } from './reconcile.ts';

/** Watches copies of schemas, and the bindings that use them. */
export function schemaCopyController(): Controller<KubeObject, SharingCaches> {
  return controller('apiresourceschema-cleanup')
    .for<KubeObject>(apiResourceSchemaKind, { metadataOnly: true, predicate: ({ object }) => clusterOf(object) === boundSchemasCluster })
    .reads(SharingCaches.of)
    .watches<ApiBinding>(
      apiBindingKind,
      ({ status }) =>
        (status?.boundResources ?? []).map((bound) => ({ cluster: boundSchemasCluster, name: copyName(bound.schema.UID, bound) })),
      // A new binding makes no copy superfluous.
      { predicate: ({ type }) => type !== 'added' },
    )
    .reconcile(
      ({ object, client, signal, copies: { bindings } }) =>
        reconcileCopy(object, {
          isUsed: (name) => bindings.hasIndexed('schema', uidOfCopy(name)),
          remove: async ({ metadata: { name = '', uid = '' } }) => {
            await ignoring(client.resource(apiResourceSchemaKind).delete(name, { preconditions: { uid }, signal }), isNotFound);
            await ignoring(client.resource(apiConversionKind).delete(name, { signal }), isNotFound);
          },
          now: Date.now,
        }),
      { backoff: { base: 1_000, max: 60_000 } },
    );
}
