import type { Registration } from '../../../registration.ts';
import { defaultBindingCreation } from './controller.ts';

/** Creates bindings in existing workspaces that their types have started to maintain. */
export const registration: Registration = {
  name: 'default-binding-creation',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'logicalclusters.core.kcp.io',
    'workspacetypes.tenancy.kcp.io',
    'apibindings.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: defaultBindingCreation,
};
