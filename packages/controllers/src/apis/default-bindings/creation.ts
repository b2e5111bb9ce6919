import { clusterOf, type Informer, isAlreadyExists, isConflict, isForbidden, isNotFound } from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter } from '@capstan/controller';
import { holds, isTrue, lacks, type NewCondition, withConditions } from '../../kcp-conditions.ts';
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
import { acceptedClaims } from './claims.ts';
import { type ExportReference, exportsOf, extendedBy, keysOfType, maintainedExports, typeKey } from './maintained.ts';
import { bindingName } from './names.ts';

const byName = 'name';
const byType = 'type';

/** Binds in existing workspaces what their types, which look after their bindings for good, have come to bind since. */
export function defaultBindingCreation(): Runnable {
  let types: Informer<WorkspaceTypeObject>;
  let workspaces: Informer<LogicalCluster>;
  const find = (path: string, name: string): WorkspaceTypeObject | undefined => types.byIndex(byName, typeKey(path, name))[0];
  const ofType = (type: WorkspaceTypeObject): LogicalCluster[] =>
    extendedBy(type, types.list(), find).flatMap((one) => keysOfType(one).flatMap((key) => workspaces.byIndex(byType, key)));
  const made = withCaches((caches) =>
    controller('default-binding-creation')
      .for<LogicalCluster>(logicalClusterType)
      .watches<WorkspaceTypeObject>(workspaceTypeType, (type) => (exportsOf(type).length === 0 ? [] : keysOf(ofType(type))))
      .watches<ApiExport>(exportType, (exported) =>
        keysOf(
          types
            .list()
            .filter((type) => exportsOf(type).some((one) => caches().exportAt(one, '') === exported))
            .flatMap(ofType),
        ),
      )
      // The workspace says whether all of them are done.
      .watches<ApiBinding>(bindingType, (binding) => [{ cluster: clusterOf(binding) ?? '', name: logicalClusterName }])
      .reconcile(
        async ({ object, client, signal }): Promise<Result> => {
          if (object?.status?.phase !== 'Ready' || object.metadata.deletionTimestamp !== undefined) return done;
          const cluster = clusterOf(object) ?? '';
          const wanted = maintainedExports(object.metadata.annotations?.[typeAnnotation] ?? '', find);
          for (const reference of wanted) {
            const exported = missing(caches(), cluster, reference);
            if (exported === undefined) continue;
            try {
              await client.resource<ApiBinding>(bindingType).create(bindingTo(cluster, reference, exported), { signal });
            } catch (error) {
              if (isForbidden(error)) return requeueAfter(5_000);
              // It came meanwhile, or the workspace went.
              if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
            }
          }
          const conditions = wanted.length === 0 ? object.status.conditions : told(object, conditionOf(caches(), cluster, wanted));
          if (conditions === object.status.conditions) return done;
          try {
            const status = { ...object.status, conditions: conditions! };
            await client.resource<LogicalCluster>(logicalClusterType).updateStatus({ ...object, status }, { signal });
          } catch (error) {
            if (isConflict(error)) return requeueAfter(50);
            if (!isNotFound(error)) throw error;
          }
          return done;
        },
        { concurrency: 4, backoff: { base: 100, max: 30_000 } },
      ),
  );
  return {
    ...made,
    prepare(informers) {
      types = informers.informer<WorkspaceTypeObject>(workspaceTypeType);
      types.addIndex(byName, keysOfType);
      workspaces = informers.informer<LogicalCluster>(logicalClusterType);
      workspaces.addIndex(byType, ({ metadata }) => [metadata.annotations?.[typeAnnotation] ?? '']);
      made.prepare?.(informers);
    },
  };
}

/** The export, when it is there and the workspace is not bound to it. */
function missing(caches: SharingCaches, cluster: string, reference: ExportReference): ApiExport | undefined {
  return bindingOf(caches, cluster, reference) === undefined ? caches.exportAt(reference, '') : undefined;
}

function bindingOf(caches: SharingCaches, cluster: string, reference: ExportReference): ApiBinding | undefined {
  const exported = caches.exportAt(reference, '');
  if (exported === undefined) return undefined;
  return caches.bindings.byIndex('cluster', cluster).find((binding) => caches.exportOf(binding) === exported);
}

/** Whether everything that the type looks after is bound, as kcp says it. */
function conditionOf(caches: SharingCaches, cluster: string, wanted: readonly ExportReference[]): NewCondition {
  const incomplete = wanted.flatMap((reference) => {
    const binding = bindingOf(caches, cluster, reference);
    if (binding === undefined) return [`for APIExport ${reference.path}|${reference.name}`];
    return isTrue(binding.status?.conditions, 'InitialBindingCompleted') ? [] : [binding.metadata.name ?? ''];
  });
  if (incomplete.length === 0) return holds('APIBindingsReconciled');
  const message = `APIBinding(s) not yet fully reconciled: ${incomplete.sort().join(', ')}`;
  return lacks('APIBindingsReconciled', { severity: 'Info', reason: 'WaitingOnAPIBindings', message });
}

const told = ({ status }: LogicalCluster, condition: NewCondition) => withConditions(status?.conditions, [condition], new Date());

function bindingTo(cluster: string, reference: ExportReference, exported: ApiExport): ApiBinding {
  const claims = acceptedClaims(exported);
  return {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: bindingName(cluster, reference) },
    spec: { reference: { export: { ...reference } }, ...(claims.length > 0 && { permissionClaims: claims }) },
  };
}
