import { writeFileSync } from 'node:fs';
import { clusterKubeconfig, clusterPath } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery/objects';
import { dump } from 'js-yaml';
import { Failure } from '../failure.ts';
import { workspaceIn } from '../workspaces/connection.ts';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import { adminKubeconfig } from './admin-kubeconfig.ts';
import { type AppFlags, findInstance, openApps } from './apps.ts';

export interface KubeconfigFlags extends AppFlags {
  readonly file?: string;
  readonly merge?: boolean;
  /** Credentials of the cluster itself, instead of the user's own. */
  readonly admin?: boolean;
  readonly expiresIn?: number;
}

/** Prints a kubeconfig for the Kubernetes cluster of an instance: our address, and the credentials of the present kubeconfig. */
export async function printKubeconfig(name: string, { file, merge, admin, expiresIn, ...flags }: KubeconfigFlags): Promise<void> {
  using apps = openApps(flags);
  const { status } = await findInstance(apps, name);
  if (status?.access?.kubeconfig !== true)
    throw new Failure(
      'usage',
      `${name} has no Kubernetes API${status?.state === 'running' ? '' : ` yet: it is ${status?.state ?? 'pending'}`}.`,
    );
  if (admin === true) return write(await adminKubeconfig(apps, { name, ...(expiresIn !== undefined && { expiresIn }) }), file);
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
  write(clusterKubeconfig({ server, cluster, user: own.userOf(context), ...place }), file);
}

function write(kubeconfig: JsonObject, file: string | undefined): void {
  const text = dump(kubeconfig, { lineWidth: -1 });
  if (file === undefined) return void process.stdout.write(text);
  writeFileSync(file, text, { mode: 0o600 });
  process.stdout.write(`KUBECONFIG=${file} kubectl get nodes\n`);
}
