import type { Registration } from '../../../registration.ts';
import { defaultBindingController } from './controller.ts';

/** Accepts new permission claims in bindings that a workspace type maintains. */
export const registration: Registration = {
  name: 'default-bindings',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'apibindings.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'workspacetypes.tenancy.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: defaultBindingController,
};
