import {
  type Client,
  clusterOf,
  type Informer,
  type InformerFactory,
  isAlreadyExists,
  isForbidden,
  isNotFound,
  isTerminating,
} from '@capstan/client';
import { controller, done, type Result, type Runnable, requeueAfter, whenOutdated } from '@capstan/controller';
import { informedBy } from '../../informed.ts';
import { holds, isTrue, lacks, type NewCondition, withConditions } from '../../kcp-conditions.ts';
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
import { acceptedClaims } from './claims.ts';
import { type ExportReference, exportsOf, extendedBy, keysOfType, maintainedExports } from './maintained.ts';
import { bindingName } from './names.ts';
import { WorkspaceTypes } from './types.ts';

const byType = 'type';

/** Binds in existing workspaces what their types, which look after their bindings for good, have come to bind since. */
export function defaultBindingCreation(): Runnable {
  return informedBy(
    (informers) => new Known(informers),
    (known) =>
      controller('default-binding-creation')
        .for<LogicalCluster>(logicalClusterType)
        .watches<WorkspaceTypeObject>(workspaceTypeType, (type) => (exportsOf(type).length === 0 ? [] : keysOf(known().workspacesOf(type))))
        .watches<ApiExport>(exportType, (exported) => keysOf(known().workspacesBinding(exported)))
        // The workspace says whether all of them are done.
        .watches<ApiBinding>(bindingType, (binding) => [{ cluster: clusterOf(binding) ?? '', name: logicalClusterName }])
        .reconcile(({ object, client, signal }) => (object === undefined ? done : reconcile(object, { client, signal, known: known() })), {
          concurrency: 4,
          backoff: { base: 100, max: 30_000 },
        }),
  );
}

/** What there is to bind, and where. */
class Known {
  readonly caches: SharingCaches;
  readonly types: WorkspaceTypes;
  readonly #workspaces: Informer<LogicalCluster>;

  constructor(informers: InformerFactory) {
    this.caches = SharingCaches.of(informers);
    this.types = new WorkspaceTypes(informers);
    this.#workspaces = informers.informer<LogicalCluster>(logicalClusterType);
    this.#workspaces.addIndex(byType, ({ metadata }) => [metadata.annotations?.[typeAnnotation] ?? '']);
  }

  /** Those of the type itself and of all that extend it. */
  workspacesOf(type: WorkspaceTypeObject): LogicalCluster[] {
    const types = extendedBy(type, this.types.list(), this.types.find);
    return types.flatMap((one) => keysOfType(one).flatMap((key) => this.#workspaces.byIndex(byType, key)));
  }

  workspacesBinding(exported: ApiExport): LogicalCluster[] {
    const binding = this.types.list().filter((type) => exportsOf(type).some((one) => this.caches.exportAt(one, '') === exported));
    return binding.flatMap((type) => this.workspacesOf(type));
  }
}

async function reconcile(
  object: LogicalCluster,
  { client, signal, known: { caches, types } }: { client: Client; signal: AbortSignal; known: Known },
): Promise<Result> {
  if (object.status?.phase !== 'Ready' || object.metadata.deletionTimestamp !== undefined) return done;
  const cluster = clusterOf(object) ?? '';
  const wanted = maintainedExports(object.metadata.annotations?.[typeAnnotation] ?? '', types.find);
  for (const reference of wanted) {
    const exported = missing(caches, cluster, reference);
    if (exported === undefined) continue;
    try {
      await client.resource<ApiBinding>(bindingType).create(bindingTo(cluster, reference, exported), { signal });
    } catch (error) {
      if (isTerminating(error)) return done;
      if (isForbidden(error)) return requeueAfter(5_000);
      // It came meanwhile, or the workspace went.
      if (!isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }
  const conditions = wanted.length === 0 ? object.status.conditions : told(object, conditionOf(caches, cluster, wanted));
  if (conditions === object.status.conditions) return done;
  try {
    const status = { ...object.status, conditions: conditions! };
    await client.resource<LogicalCluster>(logicalClusterType).updateStatus({ ...object, status }, { signal });
  } catch (error) {
    return whenOutdated(error);
  }
  return done;
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
