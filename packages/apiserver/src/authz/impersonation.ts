import type { IncomingHttpHeaders } from 'node:http';
import type { ClusterId, User } from '@capstan/api';
import { atHomeIn, parseServiceAccountName, serviceAccountGroups } from '../authn/service-account.ts';
import { type Attributes, type Authorizer, nothingWanted } from './attributes.ts';
import { forbidden } from './wording.ts';

const extraPrefix = 'impersonate-extra-';

/** Thrown for groups, extra or a uid without a user. Kubernetes responds with status 500 in plain text, so we do too. */
export class BadImpersonation extends Error {
  override readonly name = 'BadImpersonation';
}

export interface ImpersonationRequest {
  readonly cluster: ClusterId;
  /** The authenticated user. */
  readonly user: User;
  /** As parsed by Node: names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** `name, value, name, value…` as received: repeated Impersonate-Group headers must not be joined by commas. */
  readonly rawHeaders: readonly string[];
  readonly authorizer: Authorizer;
}

/**
 * The user in the Impersonate-* headers, if the authenticated user may impersonate them; the authenticated user if there are none. Throws
 * Forbidden for the first part that is not permitted.
 */
export function impersonate(request: ImpersonationRequest): User {
  const { headers } = request;
  if (!asksForSomebodyElse(headers)) return request.user;
  const wanted = parse(request.rawHeaders);
  if (wanted.name === '') {
    if (wanted.groups.length === 0 && wanted.extra.size === 0 && wanted.uid === '') return request.user;
    throw new BadImpersonation(`requested ${describe(wanted)} without impersonating a user`);
  }

  const account = parseServiceAccountName(wanted.name);
  if (account === undefined) check(request, { resource: 'users', name: wanted.name });
  else check(request, { resource: 'serviceaccounts', namespace: account.namespace, name: account.name });
  for (const name of wanted.groups) check(request, { resource: 'groups', name });
  for (const [key, values] of wanted.extra) {
    for (const name of values)
      check(request, { group: 'authentication.k8s.io', version: 'v1', resource: 'userextras', subresource: key, name });
  }
  if (wanted.uid !== '') check(request, { group: 'authentication.k8s.io', version: 'v1', resource: 'uids', name: wanted.uid });

  const groups = account !== undefined && wanted.groups.length === 0 ? serviceAccountGroups(account.namespace) : wanted.groups;
  const user: User = {
    name: wanted.name,
    ...(wanted.uid && { uid: wanted.uid }),
    groups: withEverybodysGroup(wanted.name, groups),
    ...(wanted.extra.size > 0 && { extra: Object.fromEntries(wanted.extra) }),
  };
  return atHomeIn(user, request.cluster);
}

/** Few requests impersonate, so this is checked before parsing the headers. */
export function asksForSomebodyElse(headers: IncomingHttpHeaders): boolean {
  if (headers['impersonate-user'] !== undefined) return true;
  for (const name in headers) if (name.startsWith('impersonate-')) return true;
  return false;
}

interface Wanted {
  name: string;
  uid: string;
  readonly groups: string[];
  readonly extra: Map<string, string[]>;
}

function parse(rawHeaders: readonly string[]): Wanted {
  const wanted: Wanted = { name: '', uid: '', groups: [], extra: new Map() };
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const header = rawHeaders[index]!.toLowerCase();
    if (!header.startsWith('impersonate-')) continue;
    const value = rawHeaders[index + 1]!;
    // The first of several users or uids wins.
    if (header === 'impersonate-user') wanted.name ||= value;
    else if (header === 'impersonate-uid') wanted.uid ||= value;
    else if (header === 'impersonate-group') wanted.groups.push(value);
    else if (header.startsWith(extraPrefix)) {
      const key = unescaped(header.slice(extraPrefix.length));
      const values = wanted.extra.get(key);
      if (values === undefined) wanted.extra.set(key, [value]);
      else values.push(value);
    }
  }
  return wanted;
}

function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Formats the parts as Go prints a list of object references: clients see this text. */
function describe({ groups, extra, uid }: Wanted): string {
  const parts = groups.map((group) => `{Group  ${group}    }`);
  for (const [key, values] of extra) for (const value of values) parts.push(`{UserExtra  ${value}  authentication.k8s.io/v1  ${key}}`);
  if (uid !== '') parts.push(`{UID  ${uid}  authentication.k8s.io/v1  }`);
  return `[${parts.join(' ')}]`;
}

function check({ cluster, user, authorizer }: ImpersonationRequest, what: Partial<Attributes>): void {
  const attributes: Attributes = { ...nothingWanted, cluster, user, verb: 'impersonate', isResource: true, ...what };
  const decision = authorizer.authorize(attributes);
  if (!decision.allowed) throw forbidden(attributes, decision.error ?? decision.reason);
}

function withEverybodysGroup(name: string, groups: readonly string[]): readonly string[] {
  if (name === 'system:anonymous') return groups.includes('system:unauthenticated') ? groups : [...groups, 'system:unauthenticated'];
  const decided = groups.includes('system:authenticated') || groups.includes('system:unauthenticated');
  return decided ? groups : [...groups, 'system:authenticated'];
}
