import {
  type ComputeUsage,
  computeUsageKind,
  computeUsageName,
  type FleetLimits,
  type FleetQuota,
  fleetQuotaKind,
  isPath,
  measures,
  platformWorkspace,
} from '@capstan/api';
import { type Client, isForbidden, isNotFound, type Resource } from '@capstan/client';
import { quotaLedger } from '@capstan/compute';
import { ignoring } from '@capstan/controller';
import { type QuotaUse, quotaWords } from '@capstan/fleet';
import { isQuantity, type JsonObject } from '@capstan/machinery';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { currentPath, fleetState } from '../fleet/state.ts';
import { printObject } from '../output.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import type { OutputFlags } from './offering.ts';

export interface QuotaFlags extends OutputFlags {
  readonly allocations?: number;
  readonly gpus?: number;
  /** `H100=8`. */
  readonly model?: readonly string[];
  readonly gpuMemory?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly storage?: string;
  /** `noteWords=100k`: measures of other products. */
  readonly limit?: readonly string[];
}

/** The word for the default of homes, where a path is expected. */
const homes = 'homes';
const write = (line: string): void => void process.stdout.write(`${line}\n`);
const quotasIn = (client: Client): Resource<FleetQuota> => client.cluster(platformWorkspace).resource<FleetQuota>(fleetQuotaKind);

/** Replaces the limits of a workspace. */
export async function setQuota(workspace: string, flags: QuotaFlags): Promise<void> {
  const target = targetOf(workspace);
  using client = workspaceClient(flags);
  const { group, version, kind } = fleetQuotaKind;
  const object = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: nameOf(workspace) },
    spec: { ...target, limits: limitsIn(flags) },
  };
  await quotasIn(client).apply(object as unknown as JsonObject, { fieldManager: 'capstan-quota', force: true });
  for (const name of Object.keys(object.spec.limits.others ?? {}))
    if (!measures.has(name))
      process.stderr.write(`No kind of Capstan's own has the measure ${name}: the limit holds if another product counts it.\n`);
  write(`The limits of ${workspace} were set. Next: capstan quota list`);
}

export async function deleteQuota(workspace: string, flags: OutputFlags): Promise<void> {
  targetOf(workspace);
  using client = workspaceClient(flags);
  const deleted = await ignoring(quotasIn(client).delete(nameOf(workspace)), isNotFound);
  if (deleted === undefined)
    throw new Failure('usage', `${workspace} has no quota that "capstan quota set" wrote; "capstan quota list" lists all.`);
  write(`The limits of ${workspace} were removed.`);
}

/** All limits, with what is in use. */
export async function listQuotas({ output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const fleet = await fleetState(client, 'See your own limits with "capstan quota show".');
  if (output === 'json' || output === 'yaml') return printObject({ apiVersion: 'v1', kind: 'List', items: fleet.quotas }, output);
  const ledger = quotaLedger(fleet);
  const workspaces = new Set(fleet.quotas.flatMap(({ spec }) => spec.workspace ?? []));
  const uses = [...workspaces].toSorted().flatMap((path) => ledger.uses(path).filter((use) => use.workspace === path));
  const defaults = fleet.quotas.some(({ spec }) => spec.homes)
    ? ledger.uses('user:somebody').map((use) => ({ ...use, workspace: 'every home' }))
    : [];
  if (uses.length + defaults.length === 0) return write('No limits. Set some with "capstan quota set <workspace> --gpus <number>".');
  print([...uses, ...defaults]);
}

/** The limits that hold for a workspace. Without one, those of the current workspace, which tenants may read. */
export async function showQuota(workspace: string | undefined, { output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const uses = workspace === undefined ? await ownUses(client) : await usesOf(client, workspace);
  if (output === 'json' || output === 'yaml') return printObject({ limits: uses ?? [] }, output);
  if (uses === undefined) return write('No limits are known here. Those that hold are told with the first order.');
  if (uses.length === 0) return write(`No limits hold for ${workspace ?? 'this workspace'}.`);
  print(uses);
}

async function usesOf(client: Client, workspace: string): Promise<readonly QuotaUse[]> {
  const fleet = await fleetState(client, 'Without a workspace, "capstan quota show" shows the limits of the current one.');
  return quotaLedger(fleet).uses(workspace);
}

/** Tenants read what the platform has told them; it does so with the first allocation. Owners see it before, others get undefined. */
async function ownUses(client: Client): Promise<readonly QuotaUse[] | undefined> {
  const told = await ignoring(client.resource<ComputeUsage>(computeUsageKind).get(computeUsageName), isNotFound, isForbidden);
  if (told !== undefined) return told.status?.limits ?? [];
  try {
    return await usesOf(client, await currentPath(client));
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function print(uses: readonly QuotaUse[]): void {
  const rows = uses.map((use) => [use.workspace, quotaWords(use, use.used), quotaWords(use, use.limit)]);
  for (const line of columns([['WORKSPACE', 'USED', 'LIMIT'], ...rows])) write(line);
}

function targetOf(workspace: string): { readonly workspace: string } | { readonly homes: true } {
  if (workspace === homes) return { homes: true };
  if (isPath(workspace)) return { workspace };
  throw new Failure(
    'usage',
    `expected the path of a workspace such as root:acme, or "${homes}" for the default of all homes, found ${JSON.stringify(workspace)}.`,
  );
}

/** An object for each workspace, so that setting limits again replaces them. */
function nameOf(workspace: string): string {
  return workspace.replaceAll(':', '.');
}

function limitsIn({ allocations, gpus, model = [], gpuMemory, cpu, memory, storage, limit = [] }: QuotaFlags): FleetLimits {
  const models = Object.fromEntries(model.map(parseModel));
  return {
    ...(allocations !== undefined && { allocations }),
    ...(gpus !== undefined && { gpus }),
    ...(model.length > 0 && { models }),
    ...(gpuMemory !== undefined && { gpuMemory }),
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
    ...(storage !== undefined && { storage }),
    ...(limit.length > 0 && { others: Object.fromEntries(limit.map(parseLimit)) }),
  };
}

function parseModel(text: string): [string, number] {
  const match = /^([^=]+)=(\d{1,6})$/.exec(text);
  if (match === null) throw new Failure('usage', `--model: expected a model and a number such as H100=8, found ${JSON.stringify(text)}.`);
  return [match[1]!, Number(match[2])];
}

function parseLimit(text: string): [string, string] {
  const match = /^([A-Za-z][A-Za-z0-9]*)=(.+)$/.exec(text);
  if (match === null || !isQuantity(match[2]!))
    throw new Failure('usage', `--limit: expected a measure and an amount such as noteWords=100k, found ${JSON.stringify(text)}.`);
  return [match[1]!, match[2]!];
}
