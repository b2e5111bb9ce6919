import { readInventory } from '../operator/inventory.ts';
import { restResources } from '../resources/table.ts';
import { resourceRoutes } from './resource-routes.ts';
import type { Route } from './route.ts';

const inventory: Route = {
  method: 'GET',
  path: '/operator/inventory',
  operationId: 'getInventory',
  tag: 'operator',
  summary: 'Count the GPUs of the fleet by model and pool. Needs the right to read nodes and bookings in root:platform.',
  responses: { 200: { description: 'The counts.', schema: 'Inventory' } },
  handler: readInventory,
};

/** The routes that need nothing but the request. Those about the server itself are added where it is composed. */
export const productRoutes: readonly Route[] = [...restResources.flatMap(resourceRoutes), inventory];
