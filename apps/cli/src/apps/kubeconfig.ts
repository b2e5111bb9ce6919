import { writeFileSync } from 'node:fs';
import { clusterKubeconfig, clusterPath } from '@capstan/api';
import { dump } from 'js-yaml';
import { Failure } from '../failure.ts';
import { workspaceIn } from '../workspaces/connection.ts';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import { type AppFlags, findInstance, openApps } from './apps.ts';

export interface KubeconfigFlags extends AppFlags {
  readonly file?: string;
  readonly merge?: boolean;
}

/** Prints a kubeconfig for the Kubernetes cluster of an instance: our address, and the credentials of the present kubeconfig. */
export async function printKubeconfig(name: string, { file, merge, ...flags }: KubeconfigFlags): Promise<void> {
  using apps = openApps(flags);
  const { status } = await findInstance(apps, name);
  if (status?.access?.kubeconfig !== true)
    throw new Failure(
      'usage',
      `${name} has no Kubernetes API${status?.state === 'running' ? '' : ` yet: it is ${status?.state ?? 'pending'}`}.`,
    );
  const own = KubeconfigFile.read(flags.kubeconfig);
  const context = flags.context ?? own.currentContext;
  const { server } = apps.client.connection;
  const place = { workspace: workspaceIn(server) ?? 'root', namespace: apps.namespace, name };
  const cluster = own.clusterOf(context);
  if (merge === true) {
    own.addCluster(name, { context, cluster: { ...cluster, server: new URL(server).origin + clusterPath(place) } });
    process.stdout.write(`Added the context ${name} to ${own.path}: kubectl --context ${name} get nodes\n`);
    return;
  }
  const text = dump(clusterKubeconfig({ server, cluster, user: own.userOf(context), ...place }), { lineWidth: -1 });
  if (file === undefined) return void process.stdout.write(text);
  writeFileSync(file, text, { mode: 0o600 });
  process.stdout.write(`KUBECONFIG=${file} kubectl get nodes\n`);
}
