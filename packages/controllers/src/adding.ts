import { Client, type ClientOptions, type Connection } from '@capstan/client';
import type { Manager } from '@capstan/controller';
import type { ControllerSettings, Registration } from './registration.ts';

export interface AddingOptions extends Pick<ControllerSettings, 'signing'> {
  /** Of a user who may impersonate the accounts of the controllers. */
  readonly connection: Connection;
  readonly clientOptions?: ClientOptions;
  /** How many objects a controller works on at the same time, by its name. */
  readonly concurrency?: Readonly<Record<string, number | undefined>>;
  /** False: all controllers act as the user of the connection. */
  readonly useAccounts?: boolean;
}

/** Adds controllers to a manager. Each uses its own service account, so that none has the rights of another. Disposing closes their connections. */
export function addControllers(manager: Manager, registrations: readonly Registration[], options: AddingOptions): Disposable {
  const { connection, clientOptions, signing, concurrency, useAccounts = true } = options;
  const authority = connection.ca?.toString();
  const known = new Map<string, Client>();
  const opened: Client[] = [];
  const clientOf = (account: string, cluster: string): Client => {
    const place = `${account} ${cluster}`;
    const existing = known.get(place);
    if (existing !== undefined) return existing;
    const impersonate = { user: `system:serviceaccount:kube-system:${account}` };
    const whole = new Client({ ...connection, ...(account !== '' && { impersonate }) }, clientOptions);
    opened.push(whole);
    const client = whole.cluster(cluster);
    known.set(place, client);
    return client;
  };
  for (const { name, account, workspaces, make } of registrations) {
    const runnable = make({ authority, signing, concurrency: concurrency?.[name] });
    manager.add(runnable, { client: clientOf(useAccounts ? account : '', workspaces === 'root' ? 'root' : '*') });
  }
  return {
    [Symbol.dispose]() {
      for (const client of opened) client[Symbol.dispose]();
    },
  };
}
