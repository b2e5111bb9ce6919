import {
  contentFinalizer,
  type LogicalCluster,
  ownerAnnotation,
  pathAnnotation,
  platformOwnersGroup,
  requiredGroupsAnnotation,
  rootCluster,
  terminatorsFinalizer,
  typeAnnotation,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { sameJson } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import { type AdmissionPlugin, type AdmissionRequest, isOf, isValidated } from '../../registry/admission.ts';
import { bootstrapperGroup, externalLogicalClusterAdminGroup, logicalClusterAdminGroup } from '../policy.ts';
import { isSystem } from '../system-user.ts';
import { logicalClusters } from '../tree.ts';

const order = ['', 'Scheduling', 'Initializing', 'Ready'];

/** These describe the workspace and are set when it is created. */
const fixedAnnotations = [typeAnnotation, pathAnnotation, requiredGroupsAnnotation, ownerAnnotation];

/** Groups that act for the platform. */
const privileged = [logicalClusterAdminGroup, externalLogicalClusterAdminGroup, bootstrapperGroup];

/**
 * A workspace's LogicalCluster has its state and the initializers that it waits for. Users can read it, and delete it if that is allowed.
 */
export const logicalClusterRules: AdmissionPlugin = {
  name: 'LogicalCluster',
  mutate(request) {
    if (isOf(request, logicalClusters) && request.operation === 'UPDATE' && !isPrivileged(request))
      keepFinalizers(request.object!, request.old!);
  },
  validate(request) {
    if (!isValidated(request, logicalClusters)) return;
    if (request.operation === 'DELETE' && request.context.cluster === rootCluster)
      throw forbidden(request, 'LogicalCluster cannot be deleted');
    if (isPrivileged(request)) return;
    const why = problemOf(request);
    if (why !== undefined) throw forbidden(request, why);
  },
};

function isPrivileged({ context: { user } }: AdmissionRequest): boolean {
  return isSystem(user) || privileged.some((group) => user.groups.includes(group));
}

/** Finalizers that keep the object until the workspace is empty can only be removed by the platform. */
function keepFinalizers(object: KubeObject, old: KubeObject): void {
  const { finalizers = [] } = object.metadata;
  const lost = [contentFinalizer, terminatorsFinalizer].filter(
    (name) => old.metadata.finalizers?.includes(name) === true && !finalizers.includes(name),
  );
  if (lost.length > 0) object.metadata.finalizers = [...finalizers, ...lost];
}

function problemOf(request: AdmissionRequest<LogicalCluster>): string | undefined {
  switch (request.operation) {
    case 'CREATE':
      return 'LogicalCluster cannot be created';
    case 'DELETE':
      return request.old!.spec?.directlyDeletable === true ? undefined : 'LogicalCluster cannot be deleted';
    case 'UPDATE':
      return problemOfChange(request.object!, request.old!) ?? problemOfWaiting(request) ?? problemOfAnnotations(request);
    default:
      return undefined;
  }
}

function problemOfChange(object: LogicalCluster, old: LogicalCluster): string | undefined {
  const before = { spec: old.spec ?? {}, status: old.status ?? {} };
  const after = { spec: object.spec ?? {}, status: object.status ?? {} };
  const had = new Set(before.status.initializers);
  const has = new Set(after.status.initializers);
  const [from, to] = [before.status.phase ?? '', after.status.phase ?? ''];
  if (!isSame(before.spec.initializers, after.spec.initializers)) return 'spec.initializers is immutable';
  if (!isSame(before.spec.terminators, after.spec.terminators)) return 'spec.terminators is immutable';
  if (!sameJson(before.spec.owner, after.spec.owner)) return 'spec.owner is immutable';
  if (!sameJson(before.spec, after.spec)) return 'spec is immutable';
  // An owner reference could delete it, and with it the whole workspace, which its users may not delete.
  if (!sameJson(old.metadata.ownerReferences ?? [], object.metadata.ownerReferences ?? [])) return 'metadata.ownerReferences is immutable';
  const begins = from !== 'Initializing' && to === 'Initializing';
  if (begins && !isSame(after.spec.initializers, after.status.initializers)) return 'status.initializers do not equal spec.initializers';
  if (!begins && to === 'Initializing' && [...has].some((name) => !had.has(name))) return 'status.initializers must not grow';
  if (to !== 'Initializing' && !isSame([...had], [...has])) return 'status.initializers is immutable after initialization';
  if (from === 'Initializing' && to !== 'Initializing' && has.size > 0) return 'status.initializers is not empty';
  return order.indexOf(from) > order.indexOf(to) ? `cannot transition from ${JSON.stringify(from)} to ${JSON.stringify(to)}` : undefined;
}

/** Initializers and terminators report through their own view that they are done; users of the workspace cannot do so for them. */
function problemOfWaiting({ object, old, context }: AdmissionRequest<LogicalCluster>): string | undefined {
  const { place } = context.info;
  if ((place.kind === 'view' && place.view !== 'apiexport') || context.user.groups.includes(platformOwnersGroup)) return undefined;
  const changed = (['initializers', 'terminators'] as const).find((field) => !isSame(old!.status?.[field], object!.status?.[field]));
  return changed && `status.${changed} can only be changed by the ${changed} themselves`;
}

/** Only administrators of the platform may change these; those of the workspace may not. */
function problemOfAnnotations({ object, old, context }: AdmissionRequest): string | undefined {
  if (context.user.groups.includes(platformOwnersGroup)) return undefined;
  const changed = fixedAnnotations.find((name) => object!.metadata.annotations?.[name] !== old!.metadata.annotations?.[name]);
  return changed && `annotation ${changed} is immutable`;
}

function isSame(one: readonly string[] = [], other: readonly string[] = []): boolean {
  const [a, b] = [new Set(one), new Set(other)];
  return a.size === b.size && [...a].every((name) => b.has(name));
}
