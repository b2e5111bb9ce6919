import { existsSync, writeFileSync } from 'node:fs';
import { isPath, platformOwnersGroup } from '@capstan/api';
import { bindingFor, Client, type Connection, clusterRoleBindingKind, connectionOf, parseKubeconfig, subjectOf } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { isLoopback } from '@capstan/serving';
import { dump } from 'js-yaml';
import { timeIn } from '../commands/reservation.ts';
import { consoleAddress } from '../console/address.ts';
import { Failure } from '../failure.ts';
import { currentPath } from '../fleet/state.ts';
import { whoIs } from '../session/login.ts';
import { type ConnectionFlags, userAgent, workspaceClient } from '../workspaces/connection.ts';
import { homePath } from '../workspaces/home.ts';
import { type IssuedCertificate, issueUserCertificate } from './certificate.ts';
import { mustHaveRole } from './members.ts';

export interface CreateUserFlags extends ConnectionFlags {
  readonly group?: readonly string[];
  readonly owner?: boolean;
  readonly workspace?: string;
  readonly role: string;
  readonly expiresIn: string;
  readonly server?: string;
  readonly file?: string;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Makes a certificate for somebody, and a kubeconfig with it that begins where they may work. */
export async function createUser(name: string, flags: CreateUserFlags): Promise<void> {
  const groups = groupsOf(name, flags);
  const seconds = secondsOf(flags.expiresIn);
  const file = flags.file ?? `${name.replaceAll(/[^\w.@-]/g, '-')}.kubeconfig`;
  if (existsSync(file)) throw new Failure('usage', `${file} is there already. Choose another file with --file.`);
  using client = workspaceClient(flags);
  const server = addressOf(flags.server ?? client.connection.server);
  // Before anything is made: an unknown workspace or role is said at once.
  const workspace = flags.workspace === undefined ? undefined : await workspaceNamed(client, flags.workspace);
  if (workspace !== undefined) await mustHaveRole(client.cluster(workspace), flags.role);
  const issued = await issueUserCertificate(client, { name, groups, seconds });
  const begin = (path: string, at = server): JsonObject =>
    kubeconfig({ server: `${at}/clusters/${path}`, ca: client.connection.ca, name, issued });
  // The address for others need not be reachable from here.
  const own = connectionIn(begin('root', new URL(client.connection.server).origin));
  await mustBe(name, own);
  if (workspace !== undefined) await grant(client, workspace, { name, role: flags.role });
  save(file, begin(workspace ?? (await homeOf(own))));
  const until = new Date(Date.now() + seconds * 1000);
  tell(name, { file, server, workspace, role: flags.role, isOwner: flags.owner === true, until, console: consoleFor(server, flags) });
}

function groupsOf(name: string, { group = [], owner }: CreateUserFlags): readonly string[] {
  const isReserved = (text: string): boolean => text.startsWith('system:');
  if (name.trim() !== name || name === '' || /\p{Cc}/u.test(name) || isReserved(name))
    throw new Failure(
      'usage',
      `expected a name such as ada or ada@example.com, found ${JSON.stringify(name)}. Names that begin with "system:" belong to Kubernetes.`,
    );
  const reserved = group.find(isReserved);
  if (reserved !== undefined)
    throw new Failure(
      'usage',
      `--group: ${JSON.stringify(reserved)} belongs to the platform. --owner makes somebody an owner of the platform.`,
    );
  return owner === true ? [...group, platformOwnersGroup] : group;
}

function secondsOf(text: string): number {
  const now = Date.now();
  const seconds = Math.round((Date.parse(timeIn('--expires-in', text, now)) - now) / 1000);
  if (seconds < 600 || seconds > 366 * 86_400)
    throw new Failure('usage', `--expires-in: expected ten minutes to a year, such as 12h or 90d, found ${JSON.stringify(text)}.`);
  return seconds;
}

function addressOf(server: string): string {
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:')
    throw new Failure('usage', `--server: expected an address such as https://capstan.example.com:6443, found ${JSON.stringify(server)}.`);
  return new URL(server).origin;
}

async function workspaceNamed(client: Client, path: string): Promise<string> {
  if (!isPath(path)) throw new Failure('usage', `--workspace: expected a path such as root:main:default, found ${JSON.stringify(path)}.`);
  try {
    return await currentPath(client.cluster(path));
  } catch (error) {
    throw new Failure('usage', `there is no workspace ${path}, or you have no access to it. "capstan ws create" makes one.`, error);
  }
}

async function mustBe(name: string, connection: Connection): Promise<void> {
  const found = await whoIs(connection, connection.server);
  if (found !== name) throw new Failure('unexpected', `the server knows the owner of the certificate as ${found}, not as ${name}.`);
}

/** Where they begin without a workspace that they were given. */
async function homeOf(own: Connection): Promise<string> {
  using client = new Client(own, { userAgent });
  return (await homePath(client)) ?? 'root';
}

async function grant(client: Client, workspace: string, { name, role }: { readonly name: string; readonly role: string }): Promise<void> {
  await client
    .cluster(workspace)
    .resource(clusterRoleBindingKind)
    .create(bindingFor(subjectOf('User', name), role));
}

interface Parts {
  readonly server: string;
  readonly ca: Connection['ca'];
  readonly name: string;
  readonly issued: IssuedCertificate;
}

function kubeconfig({ server, ca, name, issued }: Parts): JsonObject {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': base64(ca.toString()) };
  const user = { 'client-certificate-data': base64(issued.certificate), 'client-key-data': base64(issued.key) };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'capstan', cluster: { server, ...authority } }],
    users: [{ name, user }],
    contexts: [{ name: 'capstan', context: { cluster: 'capstan', user: name } }],
    'current-context': 'capstan',
  };
}

const connectionIn = (config: JsonObject): Connection => connectionOf(parseKubeconfig(dump(config), ''));

function save(file: string, config: JsonObject): void {
  try {
    writeFileSync(file, dump(config, { lineWidth: -1 }), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new Failure('usage', `${file} cannot be created: ${(error as Error).message}. Choose another file with --file.`, error);
  }
}

/** The address of the console for somebody who reaches the server; undefined if none runs that they can reach. */
function consoleFor(server: string, flags: ConnectionFlags): string | undefined {
  try {
    const address = consoleAddress(flags, { server });
    return isHere(address) === isHere(server) ? address : undefined;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

const isHere = (address: string): boolean => isLoopback(new URL(address).hostname.replaceAll(/[[\]]/g, ''));

interface Made {
  readonly file: string;
  readonly server: string;
  readonly workspace: string | undefined;
  readonly role: string;
  readonly isOwner: boolean;
  readonly until: Date;
  readonly console: string | undefined;
}

function tell(name: string, { file, server, workspace, role, isOwner, until, console }: Made): void {
  const where = workspace === undefined ? 'begins in a home of their own' : `begins in ${workspace}, with the role ${role}`;
  write(`${file} ${where}. It is good until ${until.toISOString().slice(0, 16).replace('T', ' ')} UTC; whoever has it is ${name}.`);
  if (isOwner) write(`${name} is an owner of the platform and may do everything in every workspace.`);
  const look = console === undefined ? '' : `; capstan console --url ${console}`;
  write(`Next${isHere(server) ? '' : ', on their machine'}: export KUBECONFIG=${file}; capstan run -- echo hello${look}`);
  if (isHere(server))
    write(
      `${server} is reachable from this machine only. For others, start "capstan up --host 0.0.0.0" and name its address with --server.`,
    );
}
