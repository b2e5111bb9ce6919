import type { Registration } from '../../registration.ts';
import { cachedResourceController } from './controller.ts';

/** Gives every CachedResource an identity and an endpoint slice, and reports whether it can be published. */
export const registration: Registration = {
  name: 'cachedresource',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'cachedresources.cache.kcp.io',
    'cachedresourceendpointslices.cache.kcp.io',
    'apibindings.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: cachedResourceController,
};
