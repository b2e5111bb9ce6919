import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootCluster } from '@capstan/api';
import type { StoreDriver } from '@capstan/testbed';
import { ask } from '../client/ask.ts';
import { turnsBetween } from '../hostile/turns.ts';
import { account, grant, HostileWorld, organization, type Tenant } from '../hostile/world.ts';
import { residentMegabytes } from '../measure/memory.ts';
import { Findings } from './findings.ts';
import type { Target } from './sender.ts';
import { feelBeside } from './sending.ts';

export interface FuzzAmounts {
  readonly store?: StoreDriver;
  readonly minutes?: number;
  readonly seed?: number | undefined;
  readonly tenants?: number;
  readonly clients?: number | undefined;
}

const optionalVersions = 'admissionregistration.k8s.io/v1beta1=true';

/** Sends random requests of many tenants, with a victim beside them; reports failures of the server and how long the victim waited. */
export async function fuzz({
  store = 'sqlite',
  minutes = 1,
  seed = randomInt(1 << 30),
  tenants = 4,
  clients = 4,
}: FuzzAmounts): Promise<string> {
  process.stderr.write(`seed ${seed}\n`);
  await using hostile = await HostileWorld.start({
    store,
    args: ['--runtime-config', optionalVersions],
    children: 0,
    objects: 100,
    largeObjects: 2,
  });
  const findings = new Findings();
  const targets: Target[] = [];
  for (let index = 0; index < tenants; index++) targets.push(await fuzzing(hostile, await organization(hostile.address, `fuzz-${index}`)));
  // The root workspace serves all kinds.
  targets.push(await fuzzing(hostile, await account(hostile.address, rootCluster)));
  const began = Date.now();
  const over = untilOver(hostile, { minutes, targets, findings });
  const felt = await feelBeside(hostile, over, { task: { targets, seed, clientsPerTarget: clients, rate: 100 }, findings });
  if (!hostile.child.running) findings.note(`the server ended: ${hostile.child.output.slice(-2_000)}`);
  const turns = turnsBetween(hostile.turnsFile, began, Date.now());
  return findings.report({ seed, minutes: (Date.now() - began) / 60_000, felt, turns });
}

async function untilOver(
  hostile: HostileWorld,
  { minutes, targets, findings }: { readonly minutes: number; readonly targets: readonly Target[]; readonly findings: Findings },
): Promise<void> {
  const end = Date.now() + minutes * 60_000;
  while (Date.now() < end && hostile.child.running) {
    await sleep(2_000);
    findings.memory(residentMegabytes(hostile.pids) ?? 0);
    findings.log(hostile.child.output);
    for (const { world } of targets) await restore(hostile, world.attacker.cluster);
  }
}

/** A tenant, and the resources that its workspace serves. */
async function fuzzing({ address, world }: HostileWorld, tenant: Tenant): Promise<Target> {
  const served: string[] = [];
  for (const path of ['api', 'apis']) {
    const { text } = await ask(address, { method: 'GET', path: `/clusters/${tenant.cluster}/${path}`, accept: discovery });
    const { items = [] } = JSON.parse(text) as { items?: Discovered[] };
    for (const { metadata, versions } of items)
      for (const { resources = [] } of versions) for (const { resource } of resources) served.push(`${metadata.name ?? ''}/${resource}`);
  }
  return { world: { ...world, attacker: tenant }, surface: { kind: 'api', served } };
}

const discovery = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Discovered {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly { readonly resources?: readonly { readonly resource: string }[] }[];
}

/** Gives tenants back the rights that they have deleted. */
async function restore({ address }: HostileWorld, cluster: string): Promise<void> {
  const path = `/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/load`;
  const { status } = await ask(address, { method: 'GET', path }).catch(() => ({ status: 0 }));
  if (status === 404) await grant(address, cluster, 'robot', 'ServiceAccount').catch(() => {});
}
