import type { Registration } from '../../registration.ts';
import { exportController } from './controller.ts';

/** Gives every APIExport an identity and an endpoint slice. */
export const registration: Registration = {
  name: 'apiexport',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'apiexports.apis.kcp.io',
    'apibindings.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: exportController,
};
