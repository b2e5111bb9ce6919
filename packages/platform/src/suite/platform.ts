import { join } from 'node:path';
import { common, defineKind, platformControllersUser, schema, type Workspace, workspaceKind } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { Manager, type Runnable } from '@capstan/controller';
import { controllers } from '@capstan/controllers';
import { vi } from 'vitest';
import type { Product } from '../product.ts';

export const patience = { timeout: 20_000, interval: 20 };

const group = 'wind.capstan.dev';

/** A kind of tenants. */
export const mill = defineKind({
  group,
  kind: 'Mill',
  plural: 'mills',
  scope: 'Namespaced',
  description: 'A mill.',
  versions: {
    v1alpha1: {
      spec: schema.object('S.', { sails: schema.withDefault(schema.integer('Sails.'), 4) }),
      status: schema.object('T.', { conditions: schema.optional(common.conditions()) }),
    },
  },
});

/** The same kind in a later version of the program. */
export const newerMill = defineKind({
  group,
  kind: 'Mill',
  plural: 'mills',
  scope: 'Namespaced',
  description: 'A mill.',
  versions: {
    v1alpha1: {
      spec: schema.object('S.', {
        sails: schema.withDefault(schema.integer('Sails.'), 4),
        colour: schema.withDefault(schema.text('Colour.', { maxLength: 20 }), 'white'),
      }),
      status: schema.object('T.', { conditions: schema.optional(common.conditions()) }),
    },
  },
});

/** A kind whose objects the platform writes and everybody reads. */
export const sailType = defineKind({
  group,
  kind: 'SailType',
  plural: 'sailtypes',
  scope: 'Cluster',
  description: 'A type of sail.',
  versions: { v1alpha1: { spec: schema.object('S.', { cloth: schema.text('Cloth.') }) } },
});

export const wind: Product = {
  name: 'wind',
  kinds: [mill, sailType],
  catalogs: [sailType],
  boundBy: ['project', 'home'],
  claims: [
    { group: '', resource: 'secrets', verbs: ['get'] },
    { group: '', resource: 'configmaps', verbs: ['get', 'list'], defaultSelector: { matchLabels: { wind: 'yes' } } },
  ],
  rules: [],
  controllers: [],
};

export interface PlatformSuite extends AsyncDisposable {
  readonly server: TestServer;
  /** The administrator's. */
  readonly client: Client;
  /** The client of `platform-controllers`. */
  readonly installer: Client;
  readonly log: string[];
  /** Runs with the rights of `platform-controllers`. */
  run(...runnables: readonly Runnable[]): AsyncDisposable;
  project(name: string): Promise<Client>;
}

/** A server with all controllers of the controller-manager, the organization root:main and the workspace root:platform. */
export async function startPlatform(): Promise<PlatformSuite> {
  const server = await startTestServer();
  await using stack = new AsyncDisposableStack();
  stack.use(server);
  const connection = connectionOf(loadKubeconfig({ path: server.kubeconfigPath }));
  const client = stack.use(new Client(connection));
  const installer = stack.use(
    new Client({ ...connection, impersonate: { user: platformControllersUser, groups: ['system:authenticated'] } }),
  );
  const log: string[] = [];
  const manage = (runnables: readonly [Runnable, Client][]): AsyncDisposable => {
    const manager = new Manager({ client: installer, stopWithin: 1, log: (line) => void log.push(line) });
    for (const [runnable, as] of runnables) manager.add(runnable, { client: as });
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    return {
      async [Symbol.asyncDispose]() {
        stop.abort();
        await running;
      },
    };
  };
  const manager = connectionOf(loadKubeconfig({ path: join(server.directory, 'controller-manager.kubeconfig') }));
  const settings = { authority: undefined, signing: undefined, concurrency: undefined };
  stack.use(
    manage(
      controllers.map(({ account, workspaces, make }) => {
        const as = stack.use(new Client({ ...manager, impersonate: { user: `system:serviceaccount:kube-system:${account}` } }));
        return [make(settings), as.cluster(workspaces === 'root' ? 'root' : '*')];
      }),
    ),
  );
  const ready = (path: string, name: string): Promise<void> =>
    vi.waitFor(async () => {
      const { status } = await client.cluster(path).resource<Workspace>(workspaceKind).get(name);
      if (status?.phase !== 'Ready') throw new Error(`${path}:${name} is ${status?.phase}: ${JSON.stringify(status?.conditions)}`);
    }, patience);
  await ready('root', 'platform');
  const kept = stack.move();
  return {
    server,
    client,
    installer,
    log,
    run: (...runnables) => manage(runnables.map((one) => [one, installer])),
    async project(name) {
      const spec = { type: { name: 'project', path: 'root' } };
      await client
        .cluster('root:main')
        .resource<Workspace>(workspaceKind)
        .create({ apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec });
      await ready('root:main', name);
      return client.cluster(`root:main:${name}`);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
