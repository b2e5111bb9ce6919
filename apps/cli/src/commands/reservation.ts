import { type NodeReservation, newObject, nodeReservationKind, platformWorkspace, type ReservedPart } from '@capstan/api';
import { type Client, isNotFound, type Resource } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import { Failure } from '../failure.ts';
import { type Column, printList, printOne } from '../output.ts';
import { workspaceClient } from '../workspaces/connection.ts';
import type { OutputFlags } from './offering.ts';

export interface ReservationFlags extends OutputFlags {
  readonly workspace: string;
  /** `gpu-1`, or `gpu-1=4` for some of its GPUs. */
  readonly node: readonly string[];
  /** A time, or a length of time such as `36h` or `14d`. */
  readonly until: string;
  readonly from?: string;
  readonly comment?: string;
}

const table: readonly Column<NodeReservation>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'WORKSPACE', value: ({ spec }) => spec.workspace },
  { name: 'NODES', value: ({ spec }) => spec.nodes.map(partText).join(', ') },
  { name: 'FROM', value: ({ spec }) => spec.from },
  { name: 'UNTIL', value: ({ spec }) => spec.until },
  { name: 'COMMENT', value: ({ spec }) => spec.comment, isWide: true },
];

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const reservationsIn = (client: Client): Resource<NodeReservation> =>
  client.cluster(platformWorkspace).resource<NodeReservation>(nodeReservationKind);

export async function createReservation(
  name: string,
  { workspace, node, until, from, comment, output, ...flags }: ReservationFlags,
): Promise<void> {
  const now = Date.now();
  const spec = {
    workspace,
    nodes: node.map(partIn),
    until: timeIn('--until', until, now),
    ...(from !== undefined && { from: timeIn('--from', from, now) }),
    ...(comment !== undefined && { comment }),
  };
  using client = workspaceClient(flags);
  const object = newObject(nodeReservationKind, { metadata: { name }, spec }) as NodeReservation;
  printOne(await reservationsIn(client).create(object), { output, table });
}

export async function listReservations({ output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const { items } = await reservationsIn(client).list();
  printList(items, { output, table, empty: 'No reservations. Create one with "capstan reservation create <name>".' });
}

export async function deleteReservation(name: string, flags: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const deleted = await ignoring(reservationsIn(client).delete(name), isNotFound);
  if (deleted === undefined) throw new Failure('usage', `there is no reservation ${name}; "capstan reservation list" lists all.`);
  write(`The reservation ${name} was deleted. Its nodes may be used by everybody.`);
}

function partText({ node, gpus, devices }: ReservedPart): string {
  const count = gpus ?? devices?.length;
  return count === undefined ? node : `${node} (${count} GPU${count === 1 ? '' : 's'})`;
}

function partIn(text: string): ReservedPart {
  const match = /^([^=]+?)(?:=(\d{1,4}))?$/.exec(text);
  if (match === null)
    throw new Failure('usage', `--node: expected a node such as gpu-1, or gpu-1=4 for 4 of its GPUs, found ${JSON.stringify(text)}.`);
  return { node: match[1]!, ...(match[2] !== undefined && { gpus: Number(match[2]) }) };
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time as it is, or a length of time from now. */
export function timeIn(flag: string, text: string, now: number): string {
  const length = /^(\d{1,5})([mhd])$/.exec(text);
  const time = length === null ? Date.parse(text) : now + Number(length[1]) * units[length[2]!]!;
  if (Number.isNaN(time))
    throw new Failure(
      'usage',
      `${flag}: expected a time such as 2031-05-06T07:08:09Z, or a length of time such as 90m, 36h or 14d, found ${JSON.stringify(text)}.`,
    );
  return new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');
}
