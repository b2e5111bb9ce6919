import type { Registration } from '../../registration.ts';
import { cachedSliceController } from './controller.ts';

/** Publishes the URL of the view of a CachedResource while somebody is bound to it. */
export const registration: Registration = {
  name: 'cachedresourceendpointslice',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'cachedresourceendpointslices.cache.kcp.io',
    'cachedresources.cache.kcp.io',
    'apibindings.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
    'partitions.topology.kcp.io',
    'shards.core.kcp.io',
  ],
  make: cachedSliceController,
};
