import { type GPUNode, gpuNodeKind, type NodeBooking, nodeBookingKind, platformWorkspace } from '@capstan/api';
import { isForbidden } from '@capstan/client';
import { planAllocation } from '@capstan/compute';
import { columns } from '../columns.ts';
import { Failure } from '../failure.ts';
import { printObject } from '../output.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import { type OrderFlags, orderOf } from './allocation.ts';
import { type OutputFlags, offeringsFor } from './offering.ts';

const gibibyte = 2 ** 30;
const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** A dry run with the rights of the caller, who must be able to read the fleet in root:platform. */
export async function planFor(flags: OutputFlags & OrderFlags): Promise<void> {
  using client = workspaceClient(flags);
  const offering = (await offeringsFor(client)).find(({ metadata }) => metadata.name === flags.offering);
  if (offering === undefined) throw new Failure('usage', `there is no offering ${flags.offering}; "capstan offering list" lists all.`);
  const platform = client.cluster(platformWorkspace);
  const [nodes, bookings] = await readable(
    Promise.all([platform.resource<GPUNode>(gpuNodeKind).list(), platform.resource<NodeBooking>(nodeBookingKind).list()]),
  );
  const answer = planAllocation({ nodes: nodes.items, bookings: bookings.items, offering: offering.spec, order: orderOf(flags) });
  if (flags.output === 'json' || flags.output === 'yaml') return printObject(answer, flags.output);
  if (answer.kind === 'short') return write(`It would wait: ${answer.message}.`);
  const rows = answer.parts.map(({ node, devices, cpu, memory }) => [
    node,
    String(devices.length),
    String(cpu / 1000),
    `${Math.round((10 * memory) / gibibyte) / 10} GiB`,
    ...(flags.output === 'wide' ? [devices.join(',')] : []),
  ]);
  const names = ['NODE', 'GPUS', 'CPU', 'MEMORY', ...(flags.output === 'wide' ? ['DEVICES'] : [])];
  for (const line of columns([names, ...rows])) write(line);
}

async function readable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isForbidden(error))
      throw new Failure(
        'usage',
        'only owners of the platform can read the fleet. Create the allocation: its status says why it waits.',
        error,
      );
    throw error;
  }
}
