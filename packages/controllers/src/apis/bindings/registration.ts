import type { Registration } from '../../registration.ts';
import { bindingController } from './controller.ts';

/** Binds the kinds of exports, and deletes the objects of a binding that is being deleted. */
export const registration: Registration = {
  name: 'apibinding',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'apibindings.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'cachedresources.cache.kcp.io',
    'cachedresourceendpointslices.cache.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: bindingController,
};
