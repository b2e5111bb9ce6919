import { clusterOf, type Informer, isConflict, isNotFound } from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter } from '@capstan/controller';
import { typeAnnotation } from '../../tenancy/facts.ts';
import {
  type LogicalCluster,
  logicalClusterName,
  logicalClusterType,
  type WorkspaceTypeObject,
  workspaceTypeType,
} from '../../tenancy/kinds.ts';
import { keysOf, type SharingCaches, withCaches } from '../caches.ts';
import { type ApiBinding, type ApiExport, bindingType, exportType } from '../kinds.ts';
import { acceptedClaims, hasClaims } from './claims.ts';
import { type ExportReference, exportsOf, keysOfType, maintainedExports, typeKey } from './maintained.ts';

const byName = 'name';

/** Accepts for workspaces what exports claim anew, where the type of the workspace looks after the binding for good. */
export function defaultBindingController(): Runnable {
  let types: Informer<WorkspaceTypeObject>;
  const made = withCaches((caches) => {
    const isExport = (reference: ExportReference, exported: ApiExport): boolean => caches().exportAt(reference, '') === exported;
    return controller('default-bindings')
      .for<ApiBinding>(bindingType)
      .watches<ApiExport>(exportType, (exported) => keysOf(caches().bindingsTo(exported)))
      .watches<WorkspaceTypeObject>(workspaceTypeType, (type) => keysOf(boundBy(type, caches())))
      .reconcile(
        async ({ object: binding, client, signal }): Promise<Result> => {
          const reference = binding?.spec?.reference?.export;
          if (binding === undefined || reference === undefined || binding.metadata.deletionTimestamp !== undefined) return done;
          const exported = caches().exportAt(reference, clusterOf(binding) ?? '');
          if (exported === undefined || hasClaims(binding, exported)) return done;
          if (!types.list().some((type) => exportsOf(type).some((one) => isExport(one, exported)))) return done;
          try {
            const workspace = await client.resource<LogicalCluster>(logicalClusterType).get(logicalClusterName, { signal });
            const type = workspace.metadata.annotations?.[typeAnnotation] ?? '';
            const maintained = maintainedExports(type, (path, name) => types.byIndex(byName, typeKey(path, name))[0]);
            if (!maintained.some((one) => isExport(one, exported))) return done;
            const spec = { ...binding.spec, permissionClaims: acceptedClaims(exported) };
            await client.resource<ApiBinding>(bindingType).update({ ...binding, spec }, { signal });
          } catch (error) {
            if (isConflict(error)) return requeueAfter(50);
            if (!isNotFound(error)) throw error;
          }
          return done;
        },
        { concurrency: 4, backoff: { base: 100, max: 30_000 } },
      );
  });
  return {
    ...made,
    prepare(informers) {
      types = informers.informer<WorkspaceTypeObject>(workspaceTypeType);
      types.addIndex(byName, keysOfType);
      made.prepare?.(informers);
    },
  };
}

function boundBy(type: WorkspaceTypeObject, caches: SharingCaches): ApiBinding[] {
  return exportsOf(type).flatMap((reference) => {
    const exported = caches.exportAt(reference, '');
    return exported === undefined ? [] : caches.bindingsTo(exported);
  });
}
