import type { Registration } from '../../registration.ts';
import { schemaCopyController } from './controller.ts';

/** Deletes copies of schemas that no binding uses. */
export const registration: Registration = {
  name: 'apiresourceschema-cleanup',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'apiresourceschemas.apis.kcp.io',
    'apibindings.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiexportendpointslices.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
  ],
  make: schemaCopyController,
};
