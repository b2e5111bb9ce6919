import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEvent, type AuditEventList, auditPath, auditRepeatedAnnotation, auditWorkspaceAnnotation } from '@capstan/api';
import { type Client, isExpired } from '@capstan/client';
import { columns } from '../columns.ts';
import { type ConnectionFlags, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { pathFrom } from '../workspaces/target.ts';

export interface AuditFlags extends ConnectionFlags {
  readonly workspace?: string;
  readonly user?: string;
  readonly verb?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly code?: number;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  readonly follow?: boolean;
  readonly output?: 'json';
}

/** In milliseconds: how often new events are asked for. */
const pollEvery = 2_000;
/** Events that are remembered, so that none is printed twice. */
const mostRemembered = 10_000;

const write = (line: string): void => void process.stdout.write(`${line}\n`);

/** Prints the audit events of a workspace; of all workspaces in root. */
export async function audit(flags: AuditFlags): Promise<void> {
  using own = workspaceClient(flags);
  const here = workspaceIn(own.connection.server) ?? 'root';
  const path = flags.workspace === undefined ? here : pathFrom(here, flags.workspace);
  const client = own.cluster(path);
  const print = printer(flags, path === 'root');
  const found = await eventsOf(client, flags);
  print(found);
  if (flags.follow !== true) return;
  const seen = new Set(found.map(keyOf));
  let newest = found[0]?.stageTimestamp ?? new Date().toISOString();
  for (;;) {
    await sleep(pollEvery);
    const later = (await eventsOf(client, { ...flags, since: newest, limit: mostRemembered })).filter((event) => !seen.has(keyOf(event)));
    if (later.length === 0) continue;
    print(later);
    newest = later[0]!.stageTimestamp;
    for (const event of later) seen.add(keyOf(event));
    for (const key of seen) {
      if (seen.size <= mostRemembered) break;
      seen.delete(key);
    }
  }
}

const keyOf = ({ auditID, stage, stageTimestamp }: AuditEvent): string => `${auditID} ${stage} ${stageTimestamp}`;

/** The newest events first, from as many pages as it takes. */
async function eventsOf(client: Client, flags: AuditFlags): Promise<readonly AuditEvent[]> {
  const found: AuditEvent[] = [];
  const { user, verb, resource, namespace, name, code, since, until, limit } = flags;
  const parameters = { user, verb, resource, namespace, name, code, since: since && timeOf(since), until: until && timeOf(until) };
  for (let token: string | undefined; ; ) {
    const query = new URLSearchParams({ limit: String(Math.min(limit - found.length, 1_000)) });
    for (const [key, value] of Object.entries(parameters)) if (value !== undefined) query.set(key, String(value));
    if (token !== undefined) query.set('continue', token);
    let page: AuditEventList;
    try {
      page = await client.json<AuditEventList>({ method: 'GET', path: `${auditPath}?${query.toString()}` });
    } catch (error) {
      // The log was rotated away, or the server has restarted: older events cannot be read any more.
      if (token !== undefined && isExpired(error)) return found;
      throw error;
    }
    found.push(...page.items);
    if (token === undefined && page.missingServers !== undefined)
      process.stderr.write(`warning: the events of ${page.missingServers.join(', ')} are missing, which did not answer\n`);
    token = page.metadata.continue;
    if (token === undefined || found.length >= limit) return found;
  }
}

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90m`, `3d` or a time. */
export function timeOf(text: string, now: Date = new Date()): string {
  const parts = /^(\d{1,6})([smhd])$/.exec(text);
  return parts === null ? text : new Date(now.getTime() - Number(parts[1]) * units[parts[2]!]!).toISOString();
}

function printer({ output, follow }: AuditFlags, hasWorkspaces: boolean): (events: readonly AuditEvent[]) => void {
  if (output === 'json' && follow !== true)
    return (items) => write(JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items }, null, 2));
  if (output === 'json')
    return (events) => {
      for (const event of [...events].reverse()) write(JSON.stringify(event));
    };
  let isFirst = true;
  return (events) => {
    if (events.length === 0 && follow !== true) return void process.stderr.write('No events.\n');
    const lines = tableOf(events, hasWorkspaces);
    for (const line of isFirst ? lines : lines.slice(1)) write(line);
    isFirst = false;
  };
}

/** Oldest first, as in a log. */
export function tableOf(events: readonly AuditEvent[], hasWorkspaces: boolean): string[] {
  const head = ['TIME', 'USER', 'VERB', 'OBJECT', 'CODE', ...(hasWorkspaces ? ['WORKSPACE'] : [])];
  const rows = [...events]
    .reverse()
    .map((event) => [
      event.stageTimestamp.replace(/\.\d+Z$/, 'Z'),
      event.impersonatedUser === undefined
        ? (event.user.username ?? '')
        : `${event.impersonatedUser.username ?? ''} (by ${event.user.username ?? ''})`,
      event.verb,
      objectOf(event),
      `${event.responseStatus?.code ?? ''}${repeated(event)}`,
      ...(hasWorkspaces ? [event.annotations?.[auditWorkspaceAnnotation] ?? ''] : []),
    ]);
  return columns([head, ...rows].map((row) => row.map(printable)));
}

function objectOf({ objectRef, requestURI }: AuditEvent): string {
  if (objectRef === undefined) return requestURI;
  const { apiGroup, resource = '', subresource, namespace, name } = objectRef;
  const kind = `${resource}${apiGroup ? `.${apiGroup}` : ''}${subresource ? `/${subresource}` : ''}`;
  const place = [namespace, name].filter((part) => part !== undefined && part !== '').join('/');
  return place === '' ? kind : `${kind} ${place}`;
}

function repeated({ annotations }: AuditEvent): string {
  const count = annotations?.[auditRepeatedAnnotation];
  return count === undefined ? '' : ` (${count} times)`;
}

/** Clients choose most of the text, so nothing in it may control the terminal. */
const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�').slice(0, 120);
