import type { ResourceType } from '@capstan/client';
import { acrossEndpoints, type Endpoints, type Runnable } from '@capstan/controller';
import type { Owners } from './owners.ts';

interface AcrossTenantsOptions {
  readonly tenants: Endpoints;
  /** The kind of the objects that `each` reconciles. */
  readonly kind: ResourceType;
  /** Learns of every endpoint. */
  readonly owners: Owners;
  /** Collects in root:platform what disappeared objects have left there. */
  readonly sweeper: Runnable;
}

/** Runs a controller at every endpoint of the export's view, and its sweeper in root:platform. */
export function acrossTenants(each: Runnable, { tenants, kind, owners, sweeper }: AcrossTenantsOptions): Runnable {
  const followed: Runnable = {
    name: each.name,
    run: async (context) => {
      owners.add({ client: context.client, objects: context.informers.informer(kind) }, context.signal);
      await each.run(context);
    },
  };
  return {
    name: each.name,
    run: async (context) => void (await Promise.all([acrossEndpoints(tenants, followed).run(context), sweeper.run(context)])),
  };
}
