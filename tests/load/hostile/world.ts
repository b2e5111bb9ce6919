import { type Child, type Connection, readConnection, type StoreDriver, startCapstan, temporaryDirectory } from '@capstan/testbed';
import { mustAsk } from '../client/ask.ts';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';
import { type HostileAgent, makeFleet } from './fleet.ts';
import { makeProducts, startRest } from './rest-api.ts';
import { reportingTurns } from './turns.ts';

/** Where a tenant works, and as whom. */
export interface Tenant {
  readonly cluster: string;
  readonly token: string;
}

/** Facts that attacks need. They are sent to the thread that makes them. */
export interface World {
  readonly host: string;
  readonly port: number;
  readonly attacker: Tenant;
  /** Workspaces within the attacker's. */
  readonly children: readonly string[];
  /** A node agent with a valid identity. */
  readonly agent: HostileAgent;
  /** The port of a REST API for the server. */
  readonly restPort: number;
}

export interface Amounts {
  readonly store: StoreDriver;
  /** More arguments of the server. */
  readonly args?: readonly string[];
  readonly children: number;
  /** Small objects, and objects of a megabyte, in the attacker's workspace. */
  readonly objects: number;
  readonly largeObjects: number;
}

const rbac = 'rbac.authorization.k8s.io';
const text = 'x'.repeat(1_000_000);

export const configMaps = (cluster: string): string => `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;

/** A server with two organizations, a REST API beside it, and one enrolled node. */
export class HostileWorld implements AsyncDisposable {
  readonly world: World;
  readonly victim: Tenant;
  readonly address: Connection;
  readonly pids: readonly number[];
  /** The process of the server. */
  readonly child: Child;
  /** Where the server reports long turns of its event loop. */
  readonly turnsFile: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    parts: Pick<HostileWorld, 'world' | 'victim' | 'address' | 'pids' | 'child' | 'turnsFile'> & { readonly owned: AsyncDisposableStack },
  ) {
    this.world = parts.world;
    this.victim = parts.victim;
    this.address = parts.address;
    this.pids = parts.pids;
    this.child = parts.child;
    this.turnsFile = parts.turnsFile;
    this.#owned = parts.owned;
  }

  static async start(amounts: Amounts): Promise<HostileWorld> {
    await using stack = new AsyncDisposableStack();
    const turnsFile = stack.use(temporaryDirectory('hostile')).join('turns');
    const server = stack.use(
      await startCapstan({ store: amounts.store, args: amounts.args ?? [], environment: reportingTurns(turnsFile) }),
    );
    const address = readConnection(server.kubeconfig);
    const { host, port } = address;
    const attacker = await organization(address, 'attacker');
    const victim = await organization(address, 'victim');
    const children = Array.from({ length: amounts.children }, (_, index) => `child-${index}`);
    for (const child of children) await workspace(address, child, 'attacker');
    for (const child of children) await grant(address, child, 'system:kcp:serviceaccount:attacker:default:robot', 'User');
    await fill(address, amounts);
    const agent = await makeFleet(address);
    await makeProducts(address, attacker.cluster);
    const restPort = await startRest(stack, server.kubeconfig);
    const world = { host, port, attacker, children, agent, restPort };
    return new HostileWorld({ world, victim, address, pids: server.pids, child: server.child, turnsFile, owned: stack.move() });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

async function post(address: Connection, path: string, body: object): Promise<string> {
  return (await mustAsk(address, { method: 'POST', path, body: JSON.stringify(body) })).text;
}

/** As the platform's controllers make it. */
async function workspace(address: Connection, id: string, parent: string): Promise<void> {
  const annotations = {
    'internal.tenancy.kcp.io/type': 'root:universal',
    'kcp.io/path': parent === 'root' ? `root:${id}` : `root:${parent}:${id}`,
    'experimental.tenancy.kcp.io/owner': '{"username":"load"}',
  };
  const owner = { apiVersion: 'tenancy.kcp.io/v1alpha1', resource: 'workspaces', name: id, cluster: parent, uid: `uid-${id}` };
  await post(address, `/clusters/${id}/apis/core.kcp.io/v1alpha1/logicalclusters`, {
    apiVersion: 'core.kcp.io/v1alpha1',
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', annotations },
    spec: { owner },
  });
}

export async function grant(address: Connection, id: string, name: string, kind: 'User' | 'ServiceAccount'): Promise<void> {
  const subject = kind === 'User' ? { kind, apiGroup: rbac, name } : { kind, namespace: 'default', name };
  await post(address, `/clusters/${id}/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name: 'load' },
    subjects: [subject],
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
  });
}

/** An organization with an account that may do everything in it. */
export async function organization(address: Connection, id: string): Promise<Tenant> {
  await workspace(address, id, 'root');
  return account(address, id);
}

/** An account that may do everything in a workspace. */
export async function account(address: Connection, id: string): Promise<Tenant> {
  const core = `/clusters/${id}/api/v1/namespaces/default`;
  await post(address, `${core}/serviceaccounts`, { metadata: { name: 'robot' } });
  await grant(address, id, 'robot', 'ServiceAccount');
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = JSON.parse(await post(address, `${core}/serviceaccounts/robot/token`, request)) as { status: { token: string } };
  return { cluster: id, token: status.token };
}

async function fill(address: Connection, { objects, largeObjects }: Amounts): Promise<void> {
  const path = configMaps('attacker');
  using pool = await Pool.open(address, 32);
  const body = (index: number): string => JSON.stringify({ metadata: { name: `small-${index}` }, data: { text: 'x'.repeat(200) } });
  const { errors, firstError } = await pool.run({ clients: 32, count: objects, seconds: 600 }, (index) =>
    requestText({ method: 'POST', path, body: body(index), token: address.token }),
  );
  if (errors > 0) throw new Error(`the attacker's objects could not be made: ${firstError}`);
  for (let index = 0; index < largeObjects; index++)
    await post(address, path, { metadata: { name: `large-${index}`, labels: { size: 'large' } }, data: { text } });
}
