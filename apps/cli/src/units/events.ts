import type { KubeObject } from '@capstan/machinery';
import { humanDuration } from '@capstan/machinery';
import { type Column, printList } from '../output.ts';
import { openUnits, type UnitOutputFlags } from './units.ts';
import { printable } from './words.ts';

interface UnitEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

const eventKind = { group: '', version: 'v1', resource: 'events', namespaced: true };

const timeOf = ({ lastTimestamp, eventTime, metadata }: UnitEvent): string =>
  lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

const table: readonly Column<UnitEvent>[] = [
  { name: 'AGE', value: (event) => humanDuration(Date.now() - Date.parse(timeOf(event))) },
  { name: 'TYPE', value: ({ type }) => type },
  { name: 'REASON', value: ({ reason }) => reason },
  { name: 'OBJECT', value: ({ involvedObject }) => `${involvedObject?.kind?.toLowerCase() ?? ''}/${involvedObject?.name ?? ''}` },
  { name: 'COUNT', value: ({ count }) => count ?? 1, isWide: true },
  { name: 'MESSAGE', value: ({ message = '' }) => printable(message) },
];

const kinds: ReadonlySet<string> = new Set(['GPUUnit', 'Pod', 'Allocation']);

/** Lists the events of a unit, or of all, the oldest first. */
export async function listEvents(name: string | undefined, { output, ...flags }: UnitOutputFlags): Promise<void> {
  using units = openUnits(flags);
  const events = units.client.resource<UnitEvent>(eventKind).in(units.namespace);
  const { items } = await events.list(name === undefined ? {} : { fieldSelector: `involvedObject.name=${name}` });
  const shown = items
    .filter(({ involvedObject }) => kinds.has(involvedObject?.kind ?? ''))
    .sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
  const about = name === undefined ? '' : ` of ${name}`;
  printList(shown, { output: output === 'name' ? undefined : output, table, empty: `No events${about}. They are kept for an hour.` });
}
