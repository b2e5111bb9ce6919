import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiBinding, apiBindingKind, platformWorkspace, type Workspace, workspaceKind } from '@capstan/api';
import { startTestServer, type TestServer } from '@capstan/apiserver/testing';
import { Client, connectionOf, isForbidden, isNotFound, loadKubeconfig } from '@capstan/client';
import { ignoring, Manager } from '@capstan/controller';
import { addControllers, chosenControllers, controllers } from '@capstan/controllers';
import { exportName } from '../content/names.ts';
import { platformManager } from '../process/manager.ts';
import type { Product } from '../product.ts';

export interface CloudOptions {
  readonly products: readonly Product[];
  /** How many; one by default. Each is a project that binds all products. */
  readonly tenants?: number;
  /** In seconds: how long tokens of the products' accounts are valid; at least 600. */
  readonly tokenLifetime?: number;
  /** Options of the API server. */
  readonly server?: Parameters<typeof startTestServer>[0];
}

export interface Tenant {
  readonly path: string;
  /** The administrator's, in the tenant's workspace. */
  readonly client: Client;
}

/** A whole Capstan in one process: an API server, the controllers, and `platform-controllers` with some products. */
export interface Cloud extends AsyncDisposable {
  readonly server: TestServer;
  /** The administrator's, at the server itself. */
  readonly client: Client;
  /** The administrator's, in root:platform. */
  readonly platform: Client;
  readonly tenants: readonly Tenant[];
  /** Lines of all controllers. */
  readonly log: readonly string[];
  /** Stops `platform-controllers` and starts it with other products: an upgrade or a rollback. Resolves when all tenants have them. */
  replaceProducts(products: readonly Product[]): Promise<void>;
  addTenant(): Promise<Tenant>;
}

/** The controllers that tenants and products need. */
const needed = [
  'workspace',
  'logical-cluster',
  'workspace-type',
  'platform-tree',
  'namespace',
  'apiexport',
  'apiexportendpointslice',
  'apibinding',
  'default-bindings',
  'default-binding-creation',
  'apiresourceschema-cleanup',
  'cachedresource',
  'cachedresource-counts',
  'cachedresourceendpointslice',
];

const organization = 'root:main';
/** In milliseconds. */
const patience = 20_000;

/** Starts a cloud for a test: `await using cloud = await startCloud({ products: [notes], tenants: 2 })`. */
export async function startCloud({ products, tenants: count = 1, tokenLifetime, server: options }: CloudOptions): Promise<Cloud> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestServer(options));
  const client = stack.use(new Client(connectionOf(loadKubeconfig({ path: server.kubeconfigPath }))));
  const log: string[] = [];
  stack.use(runControllers(server, log));
  const running = new RunningPlatform(server, { log, ...(tokenLifetime !== undefined && { tokenLifetime }) });
  stack.use(running);
  running.start(products);
  const tenants: Tenant[] = [];
  const addTenant = async (): Promise<Tenant> => {
    const tenant = await makeTenant(client, `tenant-${tenants.length + 1}`);
    await untilBound(tenant, running.products);
    tenants.push(tenant);
    return tenant;
  };
  for (let number = 0; number < count; number++) await addTenant();
  const owned = stack.move();
  return {
    server,
    client,
    platform: client.cluster(platformWorkspace),
    tenants,
    log,
    addTenant,
    async replaceProducts(next) {
      await running.stop();
      running.start(next);
      for (const tenant of tenants) await untilBound(tenant, next);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function runControllers({ directory }: TestServer, log: string[]): AsyncDisposable {
  const connection = connectionOf(loadKubeconfig({ path: join(directory, 'controller-manager.kubeconfig') }));
  const own = new Client(connection);
  const manager = new Manager({ client: own, stopWithin: 1, log: (line) => log.push(line) });
  const accounts = addControllers(manager, chosenControllers(controllers, needed), { connection, signing: undefined });
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      accounts[Symbol.dispose]();
      own[Symbol.dispose]();
    },
  };
}

/** `platform-controllers` without a process of its own. */
class RunningPlatform implements AsyncDisposable {
  readonly #server: TestServer;
  readonly #options: { readonly log: string[]; readonly tokenLifetime?: number };
  #stop: (() => Promise<void>) | undefined;
  products: readonly Product[] = [];

  constructor(server: TestServer, options: { readonly log: string[]; readonly tokenLifetime?: number }) {
    this.#server = server;
    this.#options = options;
  }

  start(products: readonly Product[]): void {
    const { log, tokenLifetime } = this.#options;
    this.products = products;
    const connection = connectionOf(loadKubeconfig({ path: join(this.#server.directory, 'platform-controllers.kubeconfig') }));
    const platform = platformManager({
      products,
      connection,
      stopWithin: 1,
      content: { interval: 1_000, retry: { base: 20, max: 100 } },
      log: (line) => log.push(line),
      ...(tokenLifetime !== undefined && { tokenLifetime }),
    });
    const stop = new AbortController();
    const ended = platform.manager.run(stop.signal);
    this.#stop = async () => {
      stop.abort();
      await ended;
      platform[Symbol.dispose]();
    };
  }

  async stop(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function makeTenant(client: Client, name: string): Promise<Tenant> {
  const parent = client.cluster(organization).resource<Workspace>(workspaceKind);
  // The organization is made by the first start.
  await until(`the workspace ${organization}`, async () => {
    const made = await ignoring(
      parent.create({
        apiVersion: 'tenancy.kcp.io/v1alpha1',
        kind: 'Workspace',
        metadata: { name },
        spec: { type: { name: 'project', path: 'root' } },
      }),
      isNotFound,
      isForbidden,
    );
    return made !== undefined;
  });
  await until(`the workspace ${organization}:${name}`, async () => (await parent.get(name)).status?.phase === 'Ready');
  const path = `${organization}:${name}`;
  return { path, client: client.cluster(path) };
}

/** Products that no type binds are bound here. */
async function untilBound({ path, client }: Tenant, products: readonly Product[]): Promise<void> {
  const bindings = client.resource<ApiBinding>(apiBindingKind);
  for (const product of products) {
    const name = exportName(product);
    const isBound = async (): Promise<boolean> => {
      const { items } = await bindings.list();
      const found = items.find(({ spec }) => spec?.reference?.export?.name === name);
      if (found === undefined && !product.boundBy.includes('project')) await bind(client, product);
      return found?.status?.phase === 'Bound';
    };
    await until(`the binding of ${name} in ${path}`, isBound);
  }
}

async function bind(client: Client, product: Product): Promise<void> {
  const name = exportName(product);
  const reference = { export: { path: platformWorkspace, name } };
  const permissionClaims = (product.claims ?? []).map((claim) => ({
    ...claim,
    selector: { matchAll: true },
    state: 'Accepted' as const,
  }));
  const binding: ApiBinding = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name },
    spec: { reference, ...(permissionClaims.length > 0 && { permissionClaims }) },
  };
  await ignoring(client.resource<ApiBinding>(apiBindingKind).create(binding), isForbidden, isNotFound);
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patience;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`expected ${what} to be ready within ${patience} ms`);
    await sleep(20);
  }
}
