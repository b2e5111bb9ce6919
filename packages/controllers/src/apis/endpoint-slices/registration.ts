import type { Registration } from '../../registration.ts';
import { endpointSliceController } from './controller.ts';

/** Publishes the URL of an export's view while somebody is bound to it. */
export const registration: Registration = {
  name: 'apiexportendpointslice',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: [
    'apiexportendpointslices.apis.kcp.io',
    'apiexports.apis.kcp.io',
    'apibindings.apis.kcp.io',
    'apiconversions.apis.kcp.io',
    'apiresourceschemas.apis.kcp.io',
    'customresourcedefinitions.apiextensions.k8s.io',
    'partitions.topology.kcp.io',
    'shards.core.kcp.io',
  ],
  make: endpointSliceController,
};
