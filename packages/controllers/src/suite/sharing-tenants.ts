import { join } from 'node:path';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { Manager } from '@capstan/controller';
import { bindingController } from '../apis/bindings/controller.ts';
import { defaultBindingController } from '../apis/default-bindings/controller.ts';
import { defaultBindingCreation } from '../apis/default-bindings/creation.ts';
import { exportController } from '../apis/exports/controller.ts';
import { startTenants } from './tenants.ts';

export interface SharingTenants extends AsyncDisposable {
  /** The administrator's. */
  readonly client: Client;
}

/** Workspaces in a tree, with the controllers that make them and those by which they share APIs, each as the account that it really has. */
export async function startSharingTenants(): Promise<SharingTenants> {
  const tenants = await startTenants();
  const running = tenants.run();
  const manager = connectionOf(loadKubeconfig({ path: join(tenants.server.directory, 'controller-manager.kubeconfig') }));
  const account = new Client({ ...manager, impersonate: { user: 'system:serviceaccount:kube-system:api-sharing-controller' } });
  const stop = new AbortController();
  const working = new Manager({ client: account.cluster('*'), stopWithin: 1, log: (line) => tenants.log.push(line) });
  for (const one of [exportController(), bindingController(), defaultBindingController(), defaultBindingCreation()]) working.add(one);
  const sharing = working.run(stop.signal);
  return {
    client: tenants.client,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sharing;
      account[Symbol.dispose]();
      await running[Symbol.asyncDispose]();
      await tenants[Symbol.asyncDispose]();
    },
  };
}
