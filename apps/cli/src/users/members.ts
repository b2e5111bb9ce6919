import {
  bindingFor,
  type Client,
  clusterRoleBindingKind,
  isNotFound,
  type Member,
  memberRoles,
  membersOf,
  type RoleBinding,
  removeMember,
  subjectOf,
} from '@capstan/client';
import { ignoring } from '@capstan/controller';
import type { OutputFlags } from '../commands/offering.ts';
import { Failure } from '../failure.ts';
import { currentPath } from '../fleet/state.ts';
import { type Column, printList } from '../output.ts';
import { type ConnectionFlags, workspaceClient } from '../workspaces/connection.ts';

export interface GrantFlags extends ConnectionFlags {
  readonly role: string;
  readonly group?: boolean;
}

export interface RevokeFlags extends ConnectionFlags {
  readonly role?: string;
  readonly group?: boolean;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const table: readonly Column<Member>[] = [
  { name: 'NAME', value: ({ name }) => name },
  { name: 'KIND', value: ({ kind }) => kind },
  { name: 'ROLE', value: ({ role }) => role },
  { name: 'BINDING', value: ({ binding }) => binding, isWide: true },
];
const clusterRoleKind = { ...clusterRoleBindingKind, resource: 'clusterroles', kind: 'ClusterRole' };
const bindingsIn = (client: Client) => client.resource<RoleBinding>(clusterRoleBindingKind);
const named = (name: string, group: boolean | undefined) => subjectOf(group === true ? 'Group' : 'User', name);

/** Who has which role in the current workspace. */
export async function listUsers({ output, ...flags }: OutputFlags): Promise<void> {
  using client = workspaceClient(flags);
  const { items } = await bindingsIn(client).list();
  const empty =
    'Nobody has a role here; owners of the platform may enter all the same. Give somebody one with "capstan user grant <name>".';
  // The platform's own accounts are nobody's concern.
  const people = membersOf(items).filter(({ name }) => output === 'wide' || !name.startsWith('system:'));
  printList(people, { output, table, empty });
}

/** Gives somebody a role in the current workspace. */
export async function grantRole(name: string, { role, group, ...flags }: GrantFlags): Promise<void> {
  using client = workspaceClient(flags);
  const workspace = await currentPath(client);
  await mustHaveRole(client, role);
  if ((await rolesOf(client, name, group)).some((member) => member.role === role))
    return write(`${name} already has the role ${role} in ${workspace}.`);
  await bindingsIn(client).create(bindingFor(named(name, group), role));
  write(`${name} has the role ${role} in ${workspace} now. Theirs: capstan ws use ${workspace}`);
}

/** Takes one role, or all of them, from somebody in the current workspace. */
export async function revokeRole(name: string, { role, group, ...flags }: RevokeFlags): Promise<void> {
  using client = workspaceClient(flags);
  const workspace = await currentPath(client);
  const members = (await rolesOf(client, name, group)).filter((member) => role === undefined || member.role === role);
  if (members.length === 0)
    throw new Failure(
      'usage',
      `${name} does not have ${role === undefined ? 'a role' : `the role ${role}`} in ${workspace}; "capstan user list" lists all.`,
    );
  for (const member of members) await ignoring(removeMember(bindingsIn(client), member), isNotFound);
  write(`${name} is no longer ${[...new Set(members.map((member) => member.role))].join(', ')} in ${workspace}.`);
}

/** A binding to a role that is not there would be accepted, and give nothing. */
export async function mustHaveRole(client: Pick<Client, 'resource'>, role: string): Promise<void> {
  const found = await ignoring(client.resource(clusterRoleKind).get(role), isNotFound);
  if (found === undefined)
    throw new Failure(
      'usage',
      `there is no role ${role}. Those for people are ${memberRoles.map(({ name }) => name).join(', ')}; "kubectl get clusterroles" lists all.`,
    );
}

async function rolesOf(client: Client, name: string, group: boolean | undefined): Promise<readonly Member[]> {
  const { kind } = named(name, group);
  const { items } = await bindingsIn(client).list();
  return membersOf(items).filter(({ subject }) => subject.kind === kind && subject.name === name);
}
