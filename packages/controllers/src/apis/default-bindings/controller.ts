import { type Client, clusterOf } from '@capstan/client';
import { controller, done, type Result, type Runnable, whenOutdated } from '@capstan/controller';
import { informedBy } from '../../informed.ts';
import { typeAnnotation } from '../../tenancy/facts.ts';
import {
  type LogicalCluster,
  logicalClusterName,
  logicalClusterType,
  type WorkspaceTypeObject,
  workspaceTypeType,
} from '../../tenancy/kinds.ts';
import { keysOf, SharingCaches } from '../caches.ts';
import { type ApiBinding, type ApiExport, bindingType, exportType } from '../kinds.ts';
import { acceptedClaims, hasClaims } from './claims.ts';
import { type ExportReference, exportsOf, maintainedExports } from './maintained.ts';
import { WorkspaceTypes } from './types.ts';

/** Accepts for workspaces what exports claim anew, where the type of the workspace looks after the binding for good. */
export function defaultBindingController(): Runnable {
  return informedBy(
    (informers): Known => ({ types: new WorkspaceTypes(informers), caches: SharingCaches.of(informers) }),
    (known) =>
      controller('default-bindings')
        .for<ApiBinding>(bindingType)
        .watches<ApiExport>(exportType, (exported) => keysOf(known().caches.bindingsTo(exported)))
        .watches<WorkspaceTypeObject>(workspaceTypeType, (type) => keysOf(boundBy(type, known().caches)))
        .reconcile(({ object, client, signal }) => (object === undefined ? done : reconcile(object, { client, signal, known: known() })), {
          concurrency: 4,
          backoff: { base: 100, max: 30_000 },
        }),
  );
}

interface Known {
  readonly types: WorkspaceTypes;
  readonly caches: SharingCaches;
}

async function reconcile(
  binding: ApiBinding,
  { client, signal, known: { types, caches } }: { client: Client; signal: AbortSignal; known: Known },
): Promise<Result> {
  const reference = binding.spec?.reference?.export;
  if (reference === undefined || binding.metadata.deletionTimestamp !== undefined) return done;
  const exported = caches.exportAt(reference, clusterOf(binding) ?? '');
  if (exported === undefined || hasClaims(binding, exported)) return done;
  const isExport = (one: ExportReference): boolean => caches.exportAt(one, '') === exported;
  if (!types.list().some((type) => exportsOf(type).some(isExport))) return done;
  try {
    const workspace = await client.resource<LogicalCluster>(logicalClusterType).get(logicalClusterName, { signal });
    const type = workspace.metadata.annotations?.[typeAnnotation] ?? '';
    if (!maintainedExports(type, types.find).some(isExport)) return done;
    const spec = { ...binding.spec, permissionClaims: acceptedClaims(exported) };
    await client.resource<ApiBinding>(bindingType).update({ ...binding, spec }, { signal });
  } catch (error) {
    return whenOutdated(error);
  }
  return done;
}

function boundBy(type: WorkspaceTypeObject, caches: SharingCaches): ApiBinding[] {
  return exportsOf(type).flatMap((reference) => {
    const exported = caches.exportAt(reference, '');
    return exported === undefined ? [] : caches.bindingsTo(exported);
  });
}
