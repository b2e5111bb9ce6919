import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newObject, type Offering, offeringKind, type Workspace, workspaceKind } from '@capstan/api';
import { isForbidden, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { JsonObject } from '@capstan/machinery';
import { type Connection, readConnection } from '@capstan/testbed';
import { ControlPlane } from '../agents/control-plane.ts';
import { startAgents } from '../agents/many.ts';
import { ask } from '../client/ask.ts';
import { type HostileAgent, makeWork } from '../hostile/fleet.ts';
import { account, type Tenant, type World } from '../hostile/world.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { until } from '../stock/project.ts';
import { enrollMany } from '../streams/fleet.ts';
import { Findings } from './findings.ts';
import { wished } from './product-requests.ts';
import type { Surface, Target } from './sender.ts';
import { feelBeside } from './sending.ts';

export interface PlatformAmounts {
  readonly minutes: number;
  readonly seed?: number | undefined;
  readonly tenants?: number;
  readonly clients?: number | undefined;
}

/** An offering that fits the pretended nodes, and the namespace of values that requests use. */
const offering = 'load';

/**
 * Sends random requests to everything that a platform serves beside the Kubernetes API: its own kinds, which its controllers and agents then work on, the REST API, the
 * console, and the pages for node agents. Reports failures, processes that end, and how long a victim in another organization waited.
 */
export async function fuzzPlatform({ minutes, seed = randomInt(1 << 30), tenants = 3, clients = 3 }: PlatformAmounts): Promise<string> {
  process.stderr.write(`seed ${seed}\n`);
  await using plane = await ControlPlane.start();
  using agents = await startAgents(plane, { count: 2, pretendsPrograms: true });
  const spec = { gpu: { count: 1 }, memory: '64Mi' };
  await plane.platform.resource<Offering>(offeringKind).create(newObject(offeringKind, { metadata: { name: offering }, spec }) as Offering);
  const address = readConnection(plane.kubeconfig);
  const agent = await hostileAgent(address);
  const ports = await plane.ports();
  const document = (await (await fetch(`http://127.0.0.1:${ports.rest}/api/v1/openapi.json`)).json()) as JsonObject;
  const victim = await project(plane, address, { parent: 'root', name: 'victim', type: 'organization' });
  const targets: Target[] = [];
  for (let index = 0; index < tenants; index++) {
    const attacker = await project(plane, address, { parent: 'root:main', name: `fuzz-${index}`, type: 'project' });
    const world: World = { host: address.host, port: address.port, attacker, children: [], agent, restPort: ports.rest };
    for (const { group, version, resource } of wished) {
      const path = `/clusters/${attacker.cluster}/apis/${group}/${version}/${resource}`;
      await until(`${resource} are served`, async () => (await ask(address, { method: 'GET', path })).status === 200);
    }
    const cookie = await signIn(ports.console, attacker);
    const surfaces: Surface[] = [
      { kind: 'products' },
      { kind: 'rest', document },
      { kind: 'console', document, port: ports.console, cookie },
    ];
    targets.push(...surfaces.map((surface) => ({ world, surface })));
    if (index === 0) targets.push({ world, surface: { kind: 'agent' } });
  }
  const findings = new Findings();
  const began = Date.now();
  const over = untilOver(plane, { minutes, findings });
  const task = { targets, seed, clientsPerTarget: clients, rate: 20 };
  const felt = await feelBeside({ address, victim }, over, { task, findings });
  findings.note(`${agents.nodes.length} honest agents`);
  return findings.report({ seed, minutes: (Date.now() - began) / 60_000, felt, turns: [] });
}

async function hostileAgent(address: Connection): Promise<HostileAgent> {
  const [agent] = await enrollMany(address, 1);
  const { node, certificate, key } = agent!;
  await makeWork(address, node);
  return { node, certificate, key: key.export({ type: 'pkcs8', format: 'pem' }) as string };
}

async function untilOver(
  plane: ControlPlane,
  { minutes, findings }: { readonly minutes: number; readonly findings: Findings },
): Promise<void> {
  const end = Date.now() + minutes * 60_000;
  const ended = new Set<number>();
  while (Date.now() < end) {
    await sleep(2_000);
    findings.memory(residentMegabytes(plane.all.filter((pid) => !ended.has(pid))) ?? 0);
    findings.log(plane.output);
    for (const pid of plane.all)
      if (!ended.has(pid) && !isRunning(pid)) {
        ended.add(pid);
        findings.note(`process ${pid} ended: ${plane.output.slice(-3_000)}`);
      }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A workspace, with an account that may do everything in it. */
async function project(
  plane: ControlPlane,
  address: Connection,
  { parent, name, type }: { readonly parent: string; readonly name: string; readonly type: string },
): Promise<Tenant> {
  const workspaces = plane.platform.cluster(parent).resource<Workspace>(workspaceKind);
  const spec = { type: { name: type, path: 'root' } };
  const workspace: Workspace = { apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name }, spec };
  await until(
    'workspaces can be created',
    async () => (await ignoring(workspaces.create(workspace), isNotFound, isForbidden)) !== undefined,
  );
  const cluster = `${parent}:${name}`;
  const path = `/clusters/${cluster}/api/v1/namespaces/default`;
  await until('it is ready', async () => (await ask(address, { method: 'GET', path })).status === 200);
  return account(address, cluster);
}

/** The cookie of a new session at the console. */
async function signIn(port: number, { token }: Tenant): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  const headers = { origin, 'x-capstan-console': '1', 'content-type': 'application/json' };
  const answer = await fetch(`${origin}/session`, { method: 'POST', headers, body: JSON.stringify({ token }) });
  const [cookie] = answer.headers.getSetCookie();
  if (cookie === undefined) throw new Error(`the console answered ${answer.status}: ${await answer.text()}`);
  return cookie.split(';')[0]!;
}
