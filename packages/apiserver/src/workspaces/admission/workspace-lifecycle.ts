import { type LogicalCluster, pathAnnotation, rootCluster } from '@capstan/api';
import { StatusError } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import { logicalClusterOf, workspaces } from '../tree.ts';

/**
 * Rejects new objects in a workspace that is being deleted, whoever creates them, since they would be lost. Like a terminating namespace,
 * the workspace still accepts updates and deletions, so that finalizers can be removed.
 */
export function workspaceLifecycle(cache: WatchCache): AdmissionPlugin {
  return {
    name: 'WorkspaceLifecycle',
    mutate(request) {
      const { operation, subresource, resource, context } = request;
      if (operation !== 'CREATE' || subresource !== '' || context.cluster === rootCluster || resource.virtual) return;
      const logicalCluster = logicalClusterOf(cache, context.cluster);
      if (logicalCluster !== undefined && isEnding(cache, logicalCluster)) throw refusal(request, logicalCluster);
    },
  };
}

/** A workspace is ending as soon as its Workspace is deleted, even if finalizers keep its content for longer. */
export function isEnding(cache: WatchCache, logicalCluster: LogicalCluster): boolean {
  if (logicalCluster.metadata.deletionTimestamp !== undefined) return true;
  const { cluster = '', name = '', uid } = logicalCluster.spec?.owner ?? {};
  const entry = cache.resource(workspaces).entries.get(`${cluster}//${name}`);
  // Most are not being deleted, which shows without parsing.
  if (entry === undefined || !entry.text.includes('"deletionTimestamp":"')) return false;
  const { metadata } = entry.parse();
  return metadata.deletionTimestamp !== undefined && metadata.uid === uid;
}

/** Kubernetes clients know the cause `NamespaceTerminating`, and do not retry. */
function refusal(request: AdmissionRequest, { metadata }: LogicalCluster): StatusError {
  const path = metadata.annotations?.[pathAnnotation] ?? request.context.cluster;
  const { status } = forbidden(request, `unable to create new content in workspace ${path} because it is being terminated`);
  const message = `workspace ${path} is being terminated`;
  const causes = [
    { reason: 'WorkspaceTerminating', message },
    ...(request.resource.namespaced ? [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }] : []),
  ];
  return new StatusError({ ...status, details: { ...status.details, causes } });
}
