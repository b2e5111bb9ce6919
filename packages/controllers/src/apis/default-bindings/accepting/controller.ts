import {
  type ApiBinding,
  type ApiExport,
  apiBindingKind,
  apiExportKind,
  type LogicalCluster,
  logicalClusterKind,
  logicalClusterName,
  typeAnnotation,
  type WorkspaceType,
  workspaceTypeKind,
} from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { type Controller, controller, ignoring } from '@capstan/controller';
import { keysOf, SharingCaches } from '../../caches.ts';
import { exportsOf } from '../maintained.ts';
import { WorkspaceTypes } from '../types.ts';
import { reconcileClaims } from './reconcile.ts';

interface Copies {
  readonly types: WorkspaceTypes;
  readonly caches: SharingCaches;
}

/** Watches bindings, and the exports and types whose claims they accept. */
export function defaultBindingController(): Controller<ApiBinding, Copies> {
  return controller('default-bindings')
    .for<ApiBinding>(apiBindingKind)
    .reads((informers): Copies => ({ types: new WorkspaceTypes(informers), caches: SharingCaches.of(informers) }))
    .watches<ApiExport>(apiExportKind, (exported, { caches }) => keysOf(caches.bindingsTo(exported)))
    .watches<WorkspaceType>(workspaceTypeKind, (type, { caches }) => keysOf(boundBy(type, caches)))
    .reconcile(
      ({ object, client, signal, copies: { types, caches } }) =>
        reconcileClaims(object, {
          types,
          exportAt: (reference) => caches.exportAt(reference, ''),
          workspaceType: async () => {
            const clusters = client.resource<LogicalCluster>(logicalClusterKind);
            const workspace = await ignoring(clusters.get(logicalClusterName, { signal }), isNotFound);
            return workspace?.metadata.annotations?.[typeAnnotation];
          },
          update: (binding) => client.resource<ApiBinding>(apiBindingKind).update(binding, { signal }),
        }),
      { concurrency: 4, backoff: { base: 100, max: 30_000 } },
    );
}

function boundBy(type: WorkspaceType, caches: SharingCaches): ApiBinding[] {
  return exportsOf(type).flatMap((reference) => {
    const exported = caches.exportAt(reference, '');
    return exported === undefined ? [] : caches.bindingsTo(exported);
  });
}
