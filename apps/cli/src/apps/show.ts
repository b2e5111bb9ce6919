import type { AppInstance, AppMember, AppOperation } from '@capstan/api';
import { isNotFound } from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';
import { type Column, printList, printOne } from '../output.ts';
import { printable } from '../units/words.ts';
import { type AppOutputFlags, type Apps, answered, findInstance, membersOf, openApps, operationsOf } from './apps.ts';
import { errorLines, nextActions, reportLine, since } from './words.ts';

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const counted = ({ status }: AppInstance): string | undefined => status?.members && `${status.members.healthy}/${status.members.total}`;
const shown = (text: string | undefined): string | undefined => (text === undefined ? undefined : printable(text));
const stateOf = ({ metadata, status }: AppInstance): string =>
  metadata.deletionTimestamp === undefined ? (status?.state ?? 'pending') : 'removing';

const table: readonly Column<AppInstance>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'APP', value: ({ spec }) => spec.app },
  { name: 'STATE', value: stateOf },
  { name: 'HEALTH', value: ({ status }) => status?.health },
  { name: 'MEMBERS', value: counted },
  { name: 'PHASE', value: ({ status }) => status?.phase },
  { name: 'AGE', value: ({ metadata }) => since(metadata.creationTimestamp) },
  { name: 'MESSAGE', value: ({ status }) => shown(status?.message) },
  { name: 'VERSION', value: ({ status }) => status?.version, isWide: true },
];

const details: readonly Column<AppInstance>[] = [
  { name: 'Name', value: ({ metadata }) => metadata.name },
  { name: 'App', value: ({ spec, status }) => `${spec.app} ${status?.version ?? spec.version ?? ''}`.trimEnd() },
  { name: 'State', value: stateOf },
  { name: 'Health', value: ({ status }) => status?.health },
  { name: 'Phase', value: ({ status }) => status?.phase },
  { name: 'Progress', value: ({ status }) => status?.progress && `${status.progress.completed} of ${status.progress.total} steps` },
  { name: 'Reported', value: reportLine },
  { name: 'Message', value: ({ status }) => shown(status?.message) },
  {
    name: 'Operation',
    value: ({ status }) =>
      status?.lastOperation &&
      shown(
        [`${status.lastOperation.type}: ${status.lastOperation.state}`, status.lastOperation.step, status.lastOperation.message]
          .filter(Boolean)
          .join(', '),
      ),
  },
  { name: 'Next try', value: ({ status }) => status?.lastOperation?.nextRetryAt },
  { name: 'Certificates', value: ({ status }) => status?.certificatesExpireAt && `expire at ${status.certificatesExpireAt}` },
  {
    name: 'Kubeconfig',
    value: ({ metadata, status }) => (status?.access?.kubeconfig === true ? `capstan app kubeconfig ${metadata.name}` : undefined),
  },
  {
    name: 'Shell',
    value: ({ metadata, status }) => (status?.access?.shell === undefined ? undefined : `capstan app shell ${metadata.name}`),
  },
];

const memberTable: readonly Column<AppMember>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'COMPONENT', value: ({ spec }) => spec.component },
  { name: 'NODE', value: ({ spec }) => spec.node },
  { name: 'STATE', value: ({ status }) => status?.state ?? 'pending' },
  { name: 'HEALTH', value: ({ status }) => status?.health },
  { name: 'MESSAGE', value: ({ status }) => shown(status?.message) },
  { name: 'ALLOCATION', value: ({ spec }) => spec.allocation, isWide: true },
  { name: 'ADDRESS', value: ({ status }) => status?.endpoint ?? status?.address, isWide: true },
];

const operationTable: readonly Column<AppOperation>[] = [
  { name: 'NAME', value: ({ metadata }) => metadata.name },
  { name: 'TYPE', value: ({ spec }) => (spec.dryRun ? `${spec.type} (plan)` : spec.type) },
  { name: 'MEMBER', value: ({ spec }) => spec.member },
  { name: 'STATE', value: ({ status }) => status?.state ?? 'pending' },
  { name: 'STEPS', value: ({ status }) => status?.progress && `${status.progress.completed}/${status.progress.total}` },
  { name: 'AGE', value: ({ metadata }) => since(metadata.creationTimestamp) },
  { name: 'MESSAGE', value: ({ status }) => shown(status?.message) },
];

export async function listInstances({ output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  const { items } = await answered(apps, apps.instances.list(), '');
  printList(items, {
    output,
    table,
    empty: 'No app instances. "capstan app catalog" lists the apps; deploy one with "capstan app deploy NAME --app APP".',
  });
}

/** Prints how an instance is, what is wrong, and what can be done. */
export async function showInstance(name: string, { output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  const instance = await findInstance(apps, name);
  printOne(instance, { output, table: details });
  if (output === 'json' || output === 'yaml') return;
  const { lastErrors = [], constraints = [], residues = [], access } = instance.status ?? {};
  const members = await membersOf(apps, name);
  if (members.length > 0) {
    write('\nMembers:');
    printList(members, { output, table: memberTable, empty: '' });
  }
  section('Problems', lastErrors.flatMap(errorLines));
  section('Instructions', await instructionsFor(apps, instance));
  section(
    'Left on nodes',
    residues.map(({ node, name: what, message }) => printable(`${node}: ${what}: ${message}`)),
  );
  section(
    'Refused now',
    constraints.map(({ action, member, message }) => printable(`${action}${member === undefined ? '' : ` of ${member}`}: ${message}`)),
  );
  section('Next', nextActions(instance));
  section('Access', [
    ...(access?.endpoints ?? []).map(({ name: what, address }) => printable(`${what}: ${address}`)),
    ...(access?.notes ?? []).map(printable),
  ]);
}

/** Instructions for a person about the last operation. */
async function instructionsFor(apps: Apps, { status }: AppInstance): Promise<string[]> {
  const { id = '', state = '' } = status?.lastOperation ?? {};
  if (state !== 'failed' && state !== 'needs_intervention') return [];
  const operation = await ignoring(apps.operations.get(id), isNotFound);
  const { instructions } = operation?.status ?? {};
  return instructions === undefined ? [] : [printable(instructions)];
}

function section(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  write(`\n${title}:`);
  for (const line of lines) write(`  ${line}`);
}

export async function listMembers(name: string, { output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  await findInstance(apps, name);
  printList(await membersOf(apps, name), { output, table: memberTable, empty: `${name} has no members yet.` });
}

export async function listOperations(name: string, { output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  printList(await operationsOf(apps, name), { output, table: operationTable, empty: `${name} has had no operations.` });
}

interface AppEvent extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
}

const eventKind = { group: '', version: 'v1', resource: 'events', namespaced: true };
const timeOf = ({ lastTimestamp, eventTime, metadata }: AppEvent): string => lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';

const eventTable: readonly Column<AppEvent>[] = [
  { name: 'AGE', value: (event) => since(timeOf(event)) },
  { name: 'TYPE', value: ({ type }) => type },
  { name: 'REASON', value: ({ reason }) => reason },
  { name: 'OBJECT', value: ({ involvedObject }) => `${involvedObject?.kind?.toLowerCase() ?? ''}/${involvedObject?.name ?? ''}` },
  { name: 'MESSAGE', value: ({ message }) => shown(message) },
];

/** Lists the events of an instance, its members and operations, the oldest first. Also of one that is gone. */
export async function listAppEvents(name: string, { output, ...flags }: AppOutputFlags): Promise<void> {
  using apps = openApps(flags);
  const related = new Set([
    name,
    ...(await membersOf(apps, name)).map(({ metadata }) => metadata.name),
    ...(await operationsOf(apps, name)).map(({ metadata }) => metadata.name),
  ]);
  const { items } = await apps.client.resource<AppEvent>(eventKind).in(apps.namespace).list();
  const found = items
    .filter(({ involvedObject }) => involvedObject?.kind?.startsWith('App') === true && related.has(involvedObject.name))
    .sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
  printList(found, { output, table: eventTable, empty: `No events of ${name}. They are kept for an hour.` });
}
