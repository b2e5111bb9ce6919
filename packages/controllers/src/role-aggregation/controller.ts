import { clusterOf, type InformerFactory } from '@capstan/client';
import { type ControllerContext, type Runnable, WorkLoop } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { reconcileRoles } from './reconcile.ts';

const clusterRoles = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles', namespaced: false };
const fieldManager = 'clusterrole-aggregation-controller';
const byWorkspace = 'workspace';

/** Watches ClusterRoles. Any of them may be part of any other, so it works on whole workspaces. */
export class RoleAggregation implements Runnable {
  readonly name = 'role-aggregation';

  prepare(informers: InformerFactory): void {
    informers.informer(clusterRoles).addIndex(byWorkspace, (role) => [workspaceOf(role)]);
  }

  async run(context: ControllerContext): Promise<void> {
    const { client, informers, signal, drop } = context;
    const roles = informers.informer(clusterRoles);
    using loop = new WorkLoop<string>(context, {
      name: this.name,
      keyOf: (workspace) => workspace,
      objectOf: (workspace) => ({ name: workspace }),
      backoff: { base: 200, max: 30_000 },
    });
    await roles.synced(signal);
    using _following = roles.onChange(({ object }) => loop.queue.add(workspaceOf(object)));
    await loop.run((workspace) => {
      const own = workspace === '' ? client : client.cluster(workspace);
      return reconcileRoles(roles.byIndex(byWorkspace, workspace), {
        apply: (role) => own.resource(clusterRoles).apply(role, { fieldManager, force: true, signal: drop }),
      });
    });
  }
}

/** Empty if the server's address is that of one workspace. */
function workspaceOf(role: KubeObject): string {
  return clusterOf(role) ?? '';
}
