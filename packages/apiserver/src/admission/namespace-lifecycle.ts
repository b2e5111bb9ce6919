import { lastingNamespaces } from '@capstan/kinds';
import { status } from '@capstan/machinery';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../registry/admission.ts';
import { terminating } from '../registry/guards.ts';
import { fresh } from '../registry/list.ts';

const namespaces = { group: '', resource: 'namespaces' };
/** Rejects creates in namespaces that are missing or terminating, and deletions of namespaces that must always exist. */
export function namespaceLifecycle(cache: WatchCache): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    mutate(request) {
      const { operation, resource, name } = request;
      if (resource.group === '' && resource.resource === 'namespaces') {
        if (operation === 'DELETE' && lastingNamespaces.has(name))
          throw status.forbidden(namespaces, name, 'this namespace may not be deleted');
        return;
      }
      // Access reviews may name namespaces that do not exist.
      if (!resource.namespaced || operation !== 'CREATE' || request.subresource !== '' || resource.virtual) return;
      if (!isThere(request)) return checkAgain(cache, request);
    },
  };
}

/** Another server may have just created the namespace. */
async function checkAgain(cache: WatchCache, request: AdmissionRequest): Promise<void> {
  await fresh(cache);
  if (!isThere(request)) throw status.notFound(namespaces, request.namespace);
}

function isThere(request: AdmissionRequest): boolean {
  const found = request.context.objects.get({ ...namespaces, cluster: request.context.cluster, namespace: '', name: request.namespace });
  if ((found?.['status'] as { phase?: string } | undefined)?.phase === 'Terminating') throw terminating(request);
  return found !== undefined;
}
