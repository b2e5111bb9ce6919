import { clusterOf, type InformerFactory } from '@capstan/client';
import { type ControllerContext, type Runnable, WorkQueue } from '@capstan/controller';
import { type JsonObject, type KubeObject, staleAggregations } from '@capstan/machinery';

const clusterRoles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };
const fieldManager = 'clusterrole-aggregation-controller';
const backoff = { base: 200, max: 30_000 };
const byWorkspace = 'workspace';

/** Watches ClusterRoles, and gives aggregated ones the rules of those that they gather in their workspace. */
export class RoleAggregation implements Runnable {
  readonly name = 'role-aggregation';

  prepare(informers: InformerFactory): void {
    informers.informer(clusterRoles);
  }

  async run({ client, informers, metrics, isLeading, signal, drop, onError }: ControllerContext): Promise<void> {
    const roles = informers.informer(clusterRoles);
    roles.addIndex(byWorkspace, (role) => [workspaceOf(role)]);
    const queue = new WorkQueue<string>({ keyOf: (workspace) => workspace, backoff });
    metrics.gauge('workqueue_depth', 'Objects that wait.', { labels: { name: this.name }, read: () => queue.depth });
    await roles.synced(signal);
    using cleanup = new DisposableStack();
    cleanup.use(roles.onChange(({ object }) => queue.add(workspaceOf(object))));
    const close = (): void => queue.close();
    signal.addEventListener('abort', close, { once: true });
    cleanup.defer(() => signal.removeEventListener('abort', close));
    if (signal.aborted) close();
    for (let workspace = await queue.take(); workspace !== undefined && isLeading(); workspace = await queue.take()) {
      const own = workspace === '' ? client : client.cluster(workspace);
      try {
        for (const { role, rules } of staleAggregations(roles.byIndex(byWorkspace, workspace)))
          await own.resource(clusterRoles).apply(withRules(role, rules as JsonObject[]), { fieldManager, force: true, signal: drop });
        queue.forget(workspace);
      } catch (error) {
        onError(error, { name: workspace });
        queue.addFailed(workspace);
      }
      queue.done(workspace);
    }
  }
}

/** Empty when the server's address is that of one workspace. */
function workspaceOf(role: KubeObject): string {
  return clusterOf(role) ?? '';
}

function withRules({ apiVersion, kind, metadata }: KubeObject, rules: JsonObject[]): KubeObject {
  return { apiVersion, kind, metadata: { name: metadata.name! }, rules };
}
