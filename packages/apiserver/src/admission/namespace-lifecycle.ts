import { StatusError, status } from '@capstan/machinery';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

const namespaces = { group: '', resource: 'namespaces' };
/** Without these the server itself would not work. */
const immortal = new Set(['default', 'kube-system', 'kube-public']);

/** Nothing is created in a namespace that is not there or is going away, and some namespaces stay for ever. */
export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  mutate(request) {
    const { operation, resource, namespace, name } = request;
    if (resource.group === '' && resource.resource === 'namespaces') {
      if (operation === 'DELETE' && immortal.has(name)) throw status.forbidden(namespaces, name, 'this namespace may not be deleted');
      return;
    }
    if (!resource.namespaced || operation !== 'CREATE' || request.subresource !== '') return;
    // Reviews are asked about namespaces that may not be there.
    if (resource.virtual) return;
    const found = request.context.objects.get({ ...namespaces, cluster: request.context.cluster, namespace: '', name: namespace });
    if (found === undefined) throw status.notFound(namespaces, namespace);
    if ((found['status'] as { phase?: string } | undefined)?.phase === 'Terminating') throw terminating(request);
  },
};

function terminating({ resource, namespace, name }: AdmissionRequest): StatusError {
  const refusal = status.forbidden(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
  return new StatusError({
    ...refusal.status,
    details: {
      ...refusal.status.details,
      causes: [{ reason: 'NamespaceTerminating', message: `namespace ${namespace} is being terminated`, field: 'metadata.namespace' }],
    },
  });
}
