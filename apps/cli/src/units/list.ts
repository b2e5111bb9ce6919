import type { GPUUnit } from '@capstan/api';
import { humanDuration } from '@capstan/machinery';
import { followChanges } from '../following.ts';
import { type Column, printList, printNames } from '../output.ts';
import { isOver, membersOf, phaseOf } from './state.ts';
import { answered, openUnits, type UnitOutputFlags } from './units.ts';

export interface ListFlags extends UnitOutputFlags {
  readonly all?: boolean;
  readonly watch?: boolean;
}

const since = (time: string | null | undefined): string | undefined =>
  time == null ? undefined : humanDuration(Date.now() - Date.parse(time));

function sizeOf({ spec: { offering, resources, nodes } }: GPUUnit): string {
  const gpu = resources?.gpu;
  const asked = [
    gpu && `${gpu.count ?? 1} ${gpu.model ?? 'GPU'}`,
    resources?.cpu !== undefined && `${resources.cpu} cpu`,
    resources?.memory !== undefined && String(resources.memory),
  ].filter(Boolean);
  return `${nodes > 1 ? `${nodes} × ` : ''}${offering ?? asked.join(', ')}`;
}

const programOf = ({ spec: { image, command = [], args = [] } }: GPUUnit): string => {
  const words = [...command, ...args].join(' ');
  const text = words === '' ? (image ?? '') : words;
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

export const unitTable: readonly Column<GPUUnit>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'PHASE', value: phaseOf },
  { name: 'RESOURCES', value: sizeOf },
  { name: 'NODE', value: (unit) => [...new Set(membersOf(unit).map(({ node }) => node))].join(',') || undefined },
  { name: 'EXIT', value: ({ status }) => status?.exitCode },
  { name: 'RESTARTS', value: ({ status }) => status?.restarts ?? 0 },
  { name: 'AGE', value: ({ metadata }) => since(metadata.creationTimestamp) },
  { name: 'COMMAND', value: programOf },
  { name: 'IMAGE', value: ({ spec }) => spec.image, isWide: true },
  { name: 'ADDRESS', value: (unit) => membersOf(unit)[0]?.address, isWide: true },
  { name: 'MESSAGE', value: ({ status }) => status?.message, isWide: true },
];

/** Lists the units that run or wait, or all. */
export async function listUnits({ all, watch, output, ...flags }: ListFlags): Promise<void> {
  using units = openUnits(flags);
  const { items, metadata } = await answered(units, units.resource.list());
  const shown = items
    .filter((unit) => all === true || !isOver(unit))
    .sort((one, other) => ((one.metadata.creationTimestamp ?? '') < (other.metadata.creationTimestamp ?? '') ? -1 : 1));
  const ended = items.length - shown.length;
  const empty =
    ended > 0
      ? `Nothing runs. ${ended} ended ${ended === 1 ? 'unit is' : 'units are'} listed by "capstan ps --all".`
      : 'No units. Start one with "capstan run -- COMMAND".';
  if (output === 'name') printNames(shown, 'gpuunit.compute.capstan.dev');
  else printList(shown, { output, table: unitTable, empty });
  if (watch !== true) return;
  await followChanges(units.resource, {
    resourceVersion: metadata.resourceVersion,
    items,
    lineOf: changeOf,
    nameOf: ({ metadata: { name = '' } }) => name,
    write: (line) => void process.stdout.write(`${line}\n`),
  });
}

function changeOf(unit: GPUUnit): string {
  const { message } = unit.status ?? {};
  return `${phaseOf(unit)}${message === undefined || message === '' ? '' : `, ${message}`}`;
}
