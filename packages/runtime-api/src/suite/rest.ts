import { appsProduct } from '@capstan/apps';
import { pair } from '@capstan/apps/testing';
import { type Client, connectionOf, loadKubeconfig } from '@capstan/client';
import { computeProduct } from '@capstan/compute';
import { fleet } from '@capstan/fleet';
import { fieldsOf, type JsonObject, type KubeObject } from '@capstan/machinery';
import { type Cloud, startCloud, type Tenant } from '@capstan/platform/testing';
import { operator } from '../jobs/product.ts';
import { openApiDocument } from '../openapi/document.ts';
import { type RuntimeApi, startRuntimeApi } from '../process/runtime-api.ts';
import type { RestLimits } from '../process/server.ts';
import { allRoutes } from '../routes/all.ts';
import { Router } from '../routes/match.ts';
import { faultsOf } from './validator.ts';

export interface RestAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: JsonObject;
}

export interface Asking {
  readonly method?: string;
  /** By default that of the tenant's account; null for none. */
  readonly token?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A cloud with a tenant, and REST APIs in front of it. */
export interface Rest extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly tenant: Tenant;
  readonly api: RuntimeApi;
  readonly url: string;
  /** Of a service account of the tenant that may do everything there. */
  readonly token: string;
  /** Of the owner of the platform. */
  readonly ownerToken: string;
  readonly log: readonly string[];
  /** Operations that were answered, whatever the answer. */
  readonly answered: ReadonlySet<string>;
  /** Asks, and checks that the answer is as the document says. */
  ask(path: string, asking?: Asking): Promise<RestAnswer>;
  /** Another replica. */
  replica(limits?: Partial<RestLimits>): Promise<RuntimeApi>;
  accountToken(client: Client, name: string, role?: string): Promise<string>;
}

const document = openApiDocument(allRoutes);
const router = new Router(allRoutes);
const account = { group: '', version: 'v1', resource: 'serviceaccounts', namespaced: true };
const binding = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterrolebindings', namespaced: false };

/** An account of the workspace, and a token of it. */
export async function accountToken(client: Client, name: string, role?: string): Promise<string> {
  const accounts = client.resource(account).in('default');
  await accounts.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } });
  if (role !== undefined)
    await client.resource(binding).create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    } as KubeObject);
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const made = await accounts.writeSubresource<KubeObject>(name, { subresource: 'token', method: 'POST', body: request });
  return (made as unknown as { readonly status: { readonly token: string } }).status.token;
}

export async function startRest(limits: Partial<RestLimits> = {}): Promise<Rest> {
  await using stack = new AsyncDisposableStack();
  // Nobody renews Leases for the nodes of these tests, and the tests say how units are.
  const compute = computeProduct();
  const ordersOnly = { ...compute, controllers: compute.controllers.filter(({ name }) => name === 'allocations' || name === 'stock') };
  const apps = appsProduct({ adapters: [pair], readOutput: async () => ({ kind: 'read', text: 'ok\n' }) });
  const cloud = stack.use(await startCloud({ products: [{ ...fleet, controllers: [] }, ordersOnly, apps, operator], tenants: 1 }));
  const [tenant] = cloud.tenants as [Tenant];
  const log: string[] = [];
  const connection = connectionOf(loadKubeconfig({ path: cloud.server.kubeconfigPath }));
  const replica = async (more: Partial<RestLimits> = {}): Promise<RuntimeApi> =>
    await startRuntimeApi({
      connection,
      host: '127.0.0.1',
      port: 0,
      healthAt: { host: '127.0.0.1', port: 0 },
      log: (line) => log.push(line),
      limits: { ...limits, ...more },
    });
  const api = stack.use(await replica());
  const url = `http://127.0.0.1:${api.port}`;
  const token = await accountToken(tenant.client, 'robot', 'cluster-admin');
  const ownerToken = await accountToken(cloud.platform, 'owner', 'cluster-admin');
  const answered = new Set<string>();
  const owned = stack.move();
  return {
    cloud,
    tenant,
    api,
    url,
    token,
    ownerToken,
    log,
    answered,
    replica: async (more) => owned.use(await replica(more)),
    accountToken,
    async ask(path, { method = 'GET', token: own = token, body, headers = {} } = {}) {
      const response = await fetch(`${path.startsWith('http') ? '' : url}${path}`, {
        method,
        headers: {
          ...(own !== null && { authorization: `Bearer ${own}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const type = (response.headers.get('content-type') ?? '').split(';')[0]!;
      const parsed = type.includes('json') ? (JSON.parse(text) as JsonObject) : {};
      check({ method, path, answered }, { status: response.status, type, body: parsed });
      return { status: response.status, headers: response.headers, text, body: parsed };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function check(
  { method, path, answered }: { readonly method: string; readonly path: string; readonly answered: Set<string> },
  { status, type, body }: { readonly status: number; readonly type: string; readonly body: JsonObject },
): void {
  const segments = path
    .replace(/^http:\/\/[^/]+/, '')
    .replace(/^\/clusters\/[^/]+/, '')
    .split('?')[0]!
    .split('/')
    .slice(3)
    .filter(Boolean);
  const found = router.find(method, segments);
  if (found === undefined || !('route' in found)) {
    if (type !== 'application/problem+json') throw new Error(`${method} ${path}: expected a problem, found ${status} ${type}`);
    return;
  }
  const { operationId, path: pattern } = found.route;
  answered.add(operationId);
  const operation = fieldsOf(fieldsOf(fieldsOf(document['paths'])[`/api/v1${pattern}`])[method.toLowerCase()]);
  const responses = fieldsOf(operation['responses']);
  const content = fieldsOf(fieldsOf(responses[String(status)] ?? responses['default'])['content']);
  if (Object.keys(content).length === 0 && type === '') return;
  if (!Object.hasOwn(content, type)) throw new Error(`${method} ${path}: the document has no answer ${status} of the type ${type}`);
  const faults = type.includes('json') ? faultsOf(document, fieldsOf(fieldsOf(content[type])['schema']), body) : [];
  if (faults.length > 0) throw new Error(`${method} ${path} answered ${status} unlike the document: ${faults.join('; ')}`);
}
