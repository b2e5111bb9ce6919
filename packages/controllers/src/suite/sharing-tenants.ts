import { join } from 'node:path';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { bindingController } from '../apis/bindings/controller.ts';
import { defaultBindingController } from '../apis/default-bindings/accepting/controller.ts';
import { defaultBindingCreation } from '../apis/default-bindings/creating/controller.ts';
import { exportController } from '../apis/exports/controller.ts';
import { runControllers } from './running.ts';
import { startTenants } from './tenants.ts';

export interface SharingTenants extends AsyncDisposable {
  /** The administrator's client. */
  readonly client: Client;
}

/** A tree of workspaces with the controllers for tenancy and shared APIs, each with its real account. */
export async function startSharingTenants(): Promise<SharingTenants> {
  const tenants = await startTenants();
  const running = tenants.run();
  const manager = connectionOf(loadKubeconfig({ path: join(tenants.server.directory, 'controller-manager.kubeconfig') }));
  const account = new Client({ ...manager, impersonate: { user: 'system:serviceaccount:kube-system:api-sharing-controller' } });
  const sharing = runControllers({ client: account.cluster('*'), log: (line) => tenants.log.push(line) }, [
    exportController(),
    bindingController(),
    defaultBindingController(),
    defaultBindingCreation(),
  ]);
  return {
    client: tenants.client,
    async [Symbol.asyncDispose]() {
      await sharing[Symbol.asyncDispose]();
      account[Symbol.dispose]();
      await running[Symbol.asyncDispose]();
      await tenants[Symbol.asyncDispose]();
    },
  };
}
