import { type Plan, type PlannedUse, planAllocation } from '@capstan/compute';
import { quotaWords } from '@capstan/fleet';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { currentPath, fleetState } from '../fleet/state.ts';
import { printObject } from '../output.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import { type OrderFlags, orderOf } from './allocation.ts';
import { type OutputFlags, offeringsFor } from './offering.ts';

export interface PlanFlags extends OutputFlags, OrderFlags {
  /** The path of the workspace that would order; by default, the current one. */
  readonly workspace?: string;
}

const gibibyte = 2 ** 30;
const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** A dry run with the rights of the caller, who must be able to read the fleet in root:platform. */
export async function planFor(flags: PlanFlags): Promise<void> {
  using client = workspaceClient(flags);
  const offering = (await offeringsFor(client)).find(({ metadata }) => metadata.name === flags.offering);
  if (offering === undefined) throw new Failure('usage', `there is no offering ${flags.offering}; "capstan offering list" lists all.`);
  const fleet = await fleetState(client, 'Create the allocation: its status says why it waits.');
  const workspace = flags.workspace ?? (await currentPath(client));
  const plan = planAllocation({ fleet, offering: offering.spec, order: orderOf(flags), workspace, now: Date.now() });
  if (flags.output === 'json' || flags.output === 'yaml') return printObject(plan, flags.output);
  if (plan.kind !== 'placed') return write(`It would wait: ${plan.message}.`);
  printParts(plan, flags.output === 'wide');
  if (plan.uses.length > 0) printUses(plan.uses);
}

function printParts({ parts }: Extract<Plan, { kind: 'placed' }>, isWide: boolean): void {
  const rows = parts.map(({ node, devices, cpu, memory }) => [
    node,
    String(devices.length),
    String(cpu / 1000),
    `${Math.round((10 * memory) / gibibyte) / 10} GiB`,
    ...(isWide ? [devices.join(',')] : []),
  ]);
  for (const line of columns([['NODE', 'GPUS', 'CPU', 'MEMORY', ...(isWide ? ['DEVICES'] : [])], ...rows])) write(line);
}

function printUses(uses: readonly PlannedUse[]): void {
  write('');
  const rows = uses.map((use) => [use.workspace, quotaWords(use, use.used), quotaWords(use, use.after), quotaWords(use, use.limit)]);
  for (const line of columns([['LIMIT OF', 'USED', 'WITH THIS ORDER', 'LIMIT'], ...rows])) write(line);
}
