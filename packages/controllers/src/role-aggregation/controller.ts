import type { InformerFactory } from '@capstan/client';
import { type ControllerContext, type Runnable, WorkQueue } from '@capstan/controller';
import { type JsonObject, type KubeObject, staleAggregations } from '@capstan/machinery';

const clusterRoles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };
const fieldManager = 'clusterrole-aggregation-controller';
/** The one thing to look at. */
const everything = 'clusterroles';
const backoff = { base: 200, max: 30_000 };

/** Watches ClusterRoles, and gives aggregated ones the rules of those that they gather. */
export class RoleAggregation implements Runnable {
  readonly name = 'role-aggregation';

  prepare(informers: InformerFactory): void {
    informers.informer(clusterRoles);
  }

  async run({ client, informers, metrics, isLeading, signal, drop, onError }: ControllerContext): Promise<void> {
    const roles = informers.informer(clusterRoles);
    const queue = new WorkQueue<string>({ keyOf: (key) => key, backoff });
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name: this.name }, read: () => queue.depth });
    await roles.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(roles.onChange(() => queue.add(everything)));
    const close = (): void => queue.close();
    signal.addEventListener('abort', close, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', close));
    if (signal.aborted) close();
    for (let key = await queue.take(); key !== undefined && isLeading(); key = await queue.take()) {
      try {
        for (const { role, rules } of staleAggregations(roles.list()))
          await client.resource(clusterRoles).apply(withRules(role, rules as JsonObject[]), { fieldManager, force: true, signal: drop });
        queue.forget(key);
      } catch (error) {
        onError(error, { name: key });
        queue.addFailed(key);
      }
      queue.done(key);
    }
  }
}

function withRules({ apiVersion, kind, metadata }: KubeObject, rules: JsonObject[]): KubeObject {
  return { apiVersion, kind, metadata: { name: metadata.name! }, rules };
}
