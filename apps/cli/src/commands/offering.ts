import { newObject, type Offering, type OfferingSpec, offeringKind, platformWorkspace } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { type Column, printList, printOne } from '../output.ts';
import type { OutputFormat } from '../output-format.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';
import { onceInstalled } from '../workspaces/once-served.ts';

export interface OutputFlags extends ConnectionFlags {
  readonly output?: OutputFormat;
}

export interface OfferingFlags extends OutputFlags {
  readonly model?: string;
  readonly gpus?: number;
  readonly gpuMemory?: string;
  readonly migProfile?: string;
  readonly nvlink?: boolean;
  readonly cpu?: string;
  readonly memory?: string;
  readonly fraction?: number;
  readonly exclusive?: boolean;
  readonly pool?: readonly string[];
  readonly spread?: boolean;
}

const table: readonly Column<Offering>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'MODEL', value: ({ spec }) => spec.gpu?.model },
  {
    name: 'GPUS',
    value: ({ spec }) => (spec.exclusive ? 'whole node' : spec.fraction === undefined ? spec.gpu?.count : `1/${spec.fraction} node`),
  },
  { name: 'NVLINK', value: ({ spec }) => spec.gpu?.nvlink, isWide: true },
  { name: 'CPU', value: ({ spec }) => spec.cpu },
  { name: 'MEMORY', value: ({ spec }) => spec.memory },
  { name: 'POOLS', value: ({ spec }) => spec.pools?.join(','), isWide: true },
  { name: 'STRATEGY', value: ({ spec }) => spec.strategy, isWide: true },
];

/** Offerings are written in root:platform. Workspaces that bind the product read them; others, such as root, do not have them. */
export async function listOfferings({ output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const items = await offeringsFor(client);
  printList(items, { output, table, empty: 'No offerings. The owner of the platform creates them with "capstan offering create <name>".' });
}

export async function offeringsFor(client: Client): Promise<readonly Offering[]> {
  const here = await ignoring(client.resource<Offering>(offeringKind).list(), isNotFound);
  return (here ?? (await client.cluster(platformWorkspace).resource<Offering>(offeringKind).list())).items;
}

export async function createOffering(name: string, flags: OfferingFlags): Promise<void> {
  using client = workspaceClient(flags);
  const offering = newObject(offeringKind, { metadata: { name }, spec: specOf(flags) }) as Offering;
  const offerings = client.cluster(platformWorkspace).resource<Offering>(offeringKind);
  const created = await onceInstalled({ client, kind: offeringKind }, () => offerings.create(offering));
  printOne(created, { output: flags.output, table });
  if (flags.output === undefined) process.stdout.write(`Next: capstan allocation plan --offering ${name}\n`);
}

function specOf(flags: OfferingFlags): Partial<OfferingSpec> {
  const { model, gpus, gpuMemory, migProfile, nvlink, cpu, memory, fraction, exclusive, pool, spread } = flags;
  const gpu = {
    ...(model !== undefined && { model }),
    ...(gpus !== undefined && { count: gpus }),
    ...(gpuMemory !== undefined && { memory: gpuMemory }),
    ...(migProfile !== undefined && { migProfile }),
    ...(nvlink === true && { nvlink: 'Required' as const }),
  };
  return {
    ...(Object.keys(gpu).length > 0 && { gpu }),
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
    ...(fraction !== undefined && { fraction }),
    ...(exclusive === true && { exclusive }),
    ...(pool !== undefined && { pools: pool }),
    ...(spread === true && { strategy: 'Spread' as const }),
  };
}
