import { usageGroups } from '@capstan/api';
import { previewInstance } from '../apps/operations.ts';
import { appRoutes } from '../apps/routes.ts';
import { readInventory } from '../operator/inventory.ts';
import { queueStockUnits } from '../operator/stock-units.ts';
import { restResources } from '../resources/table.ts';
import { readUsage } from '../usage/usage.ts';
import { idempotencyKey } from './parameters.ts';
import { type Preview, resourceRoutes } from './resource-routes.ts';
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

const stockUnits: Route = {
  method: 'POST',
  path: '/operator/stock-units',
  operationId: 'createStockUnits',
  tag: 'operator',
  summary:
    'Queue a job that raises the stock of an offering to so many warm units, and waits until they are ready. Needs the right to create operatorjobs in root:platform.',
  parameters: [idempotencyKey],
  body: 'StockUnitsInput',
  responses: { 202: { description: 'The job. Its progress is at `/operator/jobs/{id}`.', schema: 'OperatorJob' } },
  handler: queueStockUnits,
};

const usage: Route = {
  method: 'GET',
  path: '/usage',
  operationId: 'getUsage',
  tag: 'usage',
  summary: 'Add up what a workspace has used: GPU seconds and more. In the workspace root, what all workspaces have used.',
  parameters: [
    { name: 'from', description: 'A day or a time; by default the beginning of this month.', schema: { type: 'string' } },
    { name: 'to', description: 'A day or a time, which is excluded; by default now.', schema: { type: 'string' } },
    {
      name: 'group_by',
      description: 'Add the amounts up by this.',
      schema: { type: 'string', enum: [...usageGroups], default: 'workspace' },
    },
  ],
  responses: { 200: { description: 'The sums.', schema: 'Usage' } },
  handler: readUsage,
};

/** Resources whose creation can be shown without being done. */
const previews: ReadonlyMap<string, Preview> = new Map([
  [
    'app-runtime/instances',
    {
      description: 'Only plan: the answer has the members and steps, and nothing is created.',
      schema: 'AppPlan',
      handler: previewInstance,
    },
  ],
]);

/** The routes that need nothing but the request. Those about the server itself are added where it is composed. */
export const productRoutes: readonly Route[] = [
  ...restResources.flatMap((resource) => resourceRoutes(resource, previews.get(resource.path))),
  ...appRoutes,
  inventory,
  stockUnits,
  usage,
];
