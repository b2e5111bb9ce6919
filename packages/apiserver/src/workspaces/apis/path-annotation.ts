import { pathAnnotation } from '@capstan/api';
import type { ObjectReader } from '@capstan/kinds';
import { type AdmissionPlugin, type AdmissionRequest, isOf } from '../../registry/admission.ts';
import { logicalClusterOf, logicalClusters } from '../tree.ts';

/** Kinds that others refer to by the path of their workspace. */
const referred: ReadonlySet<string> = new Set([
  'apis.kcp.io/apiexports',
  'apis.kcp.io/apibindings',
  'cache.kcp.io/cachedresources',
  'tenancy.kcp.io/workspacetypes',
]);

/** Annotates objects that others refer to by path with that path. No other object can claim another path. */
export function pathAnnotations(objects: ObjectReader): AdmissionPlugin {
  return {
    name: 'PathAnnotation',
    mutate(request) {
      const { object, context } = request;
      if (object === undefined || !isMeant(request)) return;
      const workspace = logicalClusterOf(objects, context.cluster);
      const path = workspace?.metadata.annotations?.[pathAnnotation] ?? context.cluster;
      if (object.metadata.annotations?.[pathAnnotation] !== path)
        object.metadata.annotations = { ...object.metadata.annotations, [pathAnnotation]: path };
    },
  };
}

function isMeant(request: AdmissionRequest): boolean {
  const { object, resource } = request;
  if (referred.has(`${resource.group}/${resource.resource}`)) return true;
  return object?.metadata?.annotations?.[pathAnnotation] !== undefined && !isOf(request, logicalClusters);
}
