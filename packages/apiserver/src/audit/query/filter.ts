import { auditWorkspaceAnnotation } from '@capstan/api';
import { fieldsOf, isObject, itemsOf, parseTime, status, textOf } from '@capstan/machinery';

/** An event as it was read from the log. Its text may be of any version of the server, so fields are checked. */
export type LoggedEvent = Readonly<Record<string, unknown>>;

export interface AuditFilter {
  /** The id of the workspace; events of all if undefined. */
  readonly workspace: string | undefined;
  readonly user: string | undefined;
  readonly verb: string | undefined;
  /** `pods`, `pods/log`, `deployments.apps` or `deployments.apps/scale`. */
  readonly resource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly code: number | undefined;
  /** In milliseconds since 1970. */
  readonly since: number | undefined;
  readonly until: number | undefined;
}

/** The filters of a query, all of which must match. */
export interface AuditQuery extends AuditFilter {
  /** Whether it comes from users of the workspace, not from the owners of the platform. */
  readonly isTenant: boolean;
  readonly limit: number;
  readonly continue: string | undefined;
}

const defaultLimit = 100;
const mostItems = 1_000;

/** Parses the parameters of a query. Throws the error that the client gets. */
export function parseQuery(
  parameter: (name: string) => string | undefined,
  { workspace, isTenant }: Pick<AuditQuery, 'workspace' | 'isTenant'>,
): AuditQuery {
  const given = (name: string): string | undefined => parameter(name) || undefined;
  return {
    workspace,
    isTenant,
    user: given('user'),
    verb: given('verb')?.toLowerCase(),
    resource: given('resource'),
    namespace: given('namespace'),
    name: given('name'),
    code: wholeNumber('code', given('code'), 999),
    since: time('since', given('since')),
    until: time('until', given('until')),
    limit: wholeNumber('limit', given('limit'), mostItems) ?? defaultLimit,
    continue: given('continue'),
  };
}

function wholeNumber(name: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= most) return value;
  throw status.badRequest(`${name}: expected a whole number from 1 to ${most}, found ${JSON.stringify(text)}`);
}

function time(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = parseTime(text);
  if (value !== undefined) return value.getTime();
  throw status.badRequest(`${name}: expected a time such as 2026-01-02T15:04:05Z, found ${JSON.stringify(text)}`);
}

/** The event in a line; undefined if the line is not one, as after a crash or a full disk. */
export function parseEvent(line: string): LoggedEvent | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return isObject(event) && event['kind'] === 'Event' ? event : undefined;
  } catch {
    return undefined;
  }
}

/** The workspace that the server recorded; empty if it was not known. */
export const workspaceOf = (event: LoggedEvent): string => textOf(fieldsOf(event['annotations'])[auditWorkspaceAnnotation]);

/** When the stage of the event was reached, in milliseconds since 1970; NaN if it says nothing. */
export const timeOf = (event: LoggedEvent): number => Date.parse(textOf(event['stageTimestamp']));

const timeMark = Buffer.from('"stageTimestamp":"');

/** The same, of a line that has not been parsed. Quotes inside of texts are escaped, and only annotations, which are texts, come after the time. */
export function timeIn(line: Buffer): number {
  const at = line.lastIndexOf(timeMark) + timeMark.length;
  return at < timeMark.length ? Number.NaN : Date.parse(line.toString('latin1', at, line.indexOf(0x22, at)));
}

export function matches(filter: AuditFilter, event: LoggedEvent): boolean {
  if (filter.workspace !== undefined && workspaceOf(event) !== filter.workspace) return false;
  if (filter.verb !== undefined && textOf(event['verb']) !== filter.verb) return false;
  if (filter.user !== undefined && !usersOf(event).includes(filter.user)) return false;
  if (filter.code !== undefined && fieldsOf(event['responseStatus'])['code'] !== filter.code) return false;
  const at = timeOf(event);
  if (filter.since !== undefined && !(at >= filter.since)) return false;
  if (filter.until !== undefined && !(at <= filter.until)) return false;
  return isAbout(filter, fieldsOf(event['objectRef']));
}

function isAbout({ resource, namespace, name }: AuditFilter, reference: Readonly<Record<string, unknown>>): boolean {
  if (namespace !== undefined && textOf(reference['namespace']) !== namespace) return false;
  if (name !== undefined && textOf(reference['name']) !== name) return false;
  if (resource === undefined) return true;
  const [group, plural, sub] = ['apiGroup', 'resource', 'subresource'].map((field) => textOf(reference[field]));
  const suffix = sub === '' ? '' : `/${sub}`;
  const [wanted, wantedSub] = resource.split('/');
  if (wanted !== plural && wanted !== `${plural}.${group}`) return false;
  return wantedSub === undefined || suffix === `/${wantedSub}`;
}

function usersOf(event: LoggedEvent): string[] {
  return [event['user'], event['impersonatedUser']].map((user) => textOf(fieldsOf(user)['username']));
}

/** The part of an event that owners of a workspace see: nothing about how the platform knows its users, nor where its own accounts are. */
export function forTenants(event: LoggedEvent): LoggedEvent {
  const shown: Record<string, unknown> = { ...event };
  for (const field of ['user', 'impersonatedUser']) {
    if (!isObject(event[field])) continue;
    const { extra: _, ...user } = event[field];
    shown[field] = user;
  }
  const name = textOf(fieldsOf(event['user'])['username']);
  const isPlatform = isMember(event, 'system:masters') || (name.startsWith('system:') && !isOutside(name));
  if (isPlatform) delete shown['sourceIPs'];
  return shown;
}

const isOutside = (name: string): boolean => name === 'system:anonymous' || name.startsWith('system:serviceaccount:');

const isMember = (event: LoggedEvent, group: string): boolean =>
  (itemsOf(fieldsOf(event['user'])['groups']) as readonly unknown[]).includes(group);
