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
import { clusterOf, type Informer, type InformerFactory, isAlreadyExists } from '@capstan/client';
import { type Controller, controller, done, ignoring } from '@capstan/controller';
import { keysOf, SharingCaches } from '../../caches.ts';
import { unlessShut } from '../../shut.ts';
import { exportsOf, extendedBy, keysOfType } from '../maintained.ts';
import { WorkspaceTypes } from '../types.ts';
import { reconcileDefaultBindings } from './reconcile.ts';

const byType = 'type';

/** Watches workspaces, and the types, exports and bindings that decide which bindings they lack. */
export function defaultBindingCreation(): Controller<LogicalCluster, Copies> {
  return (
    controller('default-binding-creation')
      .for<LogicalCluster>(logicalClusterKind)
      .reads((informers) => new Copies(informers))
      .watches<WorkspaceType>(workspaceTypeKind, (type, copies) => (exportsOf(type).length === 0 ? [] : keysOf(copies.workspacesOf(type))))
      .watches<ApiExport>(apiExportKind, (exported, copies) => keysOf(copies.workspacesBinding(exported)))
      // The workspace reports whether all of its bindings are complete.
      .watches<ApiBinding>(apiBindingKind, (binding) => [{ cluster: clusterOf(binding) ?? '', name: logicalClusterName }])
      .reconcile(
        ({ object, client, signal, copies: { caches, types } }) => {
          if (object === undefined) return done;
          const cluster = clusterOf(object) ?? '';
          return unlessShut(
            reconcileDefaultBindings(object, {
              findType: types.find,
              exportAt: (reference) => caches.exportAt(reference, ''),
              bindingTo: (exported) => caches.bindings.byIndex('cluster', cluster).find((one) => caches.exportOf(one) === exported),
              create: (binding) => ignoring(client.resource<ApiBinding>(apiBindingKind).create(binding, { signal }), isAlreadyExists),
              updateStatus: (changed) => client.resource<LogicalCluster>(logicalClusterKind).updateStatus(changed, { signal }),
              now: () => new Date(),
            }),
          );
        },
        { concurrency: 4, backoff: { base: 100, max: 30_000 } },
      )
  );
}

class Copies {
  readonly caches: SharingCaches;
  readonly types: WorkspaceTypes;
  readonly #workspaces: Informer<LogicalCluster>;

  constructor(informers: InformerFactory) {
    this.caches = SharingCaches.of(informers);
    this.types = new WorkspaceTypes(informers);
    this.#workspaces = informers.informer<LogicalCluster>(logicalClusterKind);
    this.#workspaces.addIndex(byType, ({ metadata }) => [metadata.annotations?.[typeAnnotation] ?? '']);
  }

  /** The workspaces of the type itself and of all that extend it. */
  workspacesOf(type: WorkspaceType): LogicalCluster[] {
    const types = extendedBy(type, this.types.list(), this.types.find);
    return types.flatMap((one) => keysOfType(one).flatMap((key) => this.#workspaces.byIndex(byType, key)));
  }

  /** The workspaces whose type maintains a binding to the export. */
  workspacesBinding(exported: ApiExport): LogicalCluster[] {
    const maintaining = this.types.list().filter((type) => exportsOf(type).some((one) => this.caches.exportAt(one, '') === exported));
    return maintaining.flatMap((type) => this.workspacesOf(type));
  }
}
