import { rbacGroup, staleAggregations } from '../authz/index.ts';
import type { Serving } from '../handlers/serving.ts';
import { update } from '../registry/update.ts';
import { defaultCluster } from '../request/info.ts';
import { systemContext } from './bootstrap.ts';
import { coalesced } from './coalesced.ts';

/** Keeps the rules of aggregated ClusterRoles what their selectors say, now and whenever a ClusterRole changes. */
export async function keepAggregated(serving: Serving, now: () => Date, onError: (error: unknown) => void): Promise<void> {
  const context = systemContext(serving, now);
  const resource = serving.catalog.resource(rbacGroup, 'v1', 'clusterroles')!;
  const aggregate = async (): Promise<void> => {
    for (;;) {
      const stale = staleAggregations(serving.cache.list(resource, defaultCluster));
      if (stale.length === 0) return;
      await Promise.all(
        stale.map(({ role, rules }) =>
          update(serving, context, {
            resource,
            namespace: '',
            name: role.metadata.name!,
            subresource: '',
            manager: 'clusterrole-aggregation-controller',
            dryRun: false,
            change: (old) => ({ object: { ...old, rules } }),
          }),
        ),
      );
    }
  };
  const run = coalesced(aggregate);
  await run();
  serving.cache.resource(resource).listeners.add({ changed: () => void run().catch(onError) });
}
