import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { ApiError, Client, type Connection, ConnectionError, connectionOf, parseKubeconfig } from '@capstan/client';
import type { JsonObject } from '@capstan/machinery';
import { dump } from 'js-yaml';
import { Failure } from '../failure.ts';
import { type ConnectionFlags, userAgent, workspaceClient, workspaceIn } from '../workspaces/connection.ts';
import { homePath, worksInRoot } from '../workspaces/home.ts';
import { KubeconfigFile } from '../workspaces/kubeconfig-file.ts';
import { signIn } from './device-flow.ts';

export interface LoginFlags {
  readonly kubeconfig?: string;
  readonly token?: string;
  readonly tokenStdin?: boolean;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly issuer?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly workspace?: string;
  readonly name?: string;
}

const write = (line: string): void => void process.stdout.write(`${line}\n`);
const reviews = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews', namespaced: false };

/** Adds a server and credentials for it to the kubeconfig, after the server has accepted them. */
export async function login(server: string, flags: LoginFlags): Promise<void> {
  const file = KubeconfigFile.open(flags.kubeconfig);
  const cluster = clusterOf(server, flags);
  const user = await userOf(flags);
  const name = flags.name ?? new URL(server).host;
  const connection = connectionFor(cluster, user);
  const who = await whoIs(connection, server);
  const home = workspaceIn(connection.server) === undefined ? await beginning(connection) : undefined;
  file.putContext(name, { cluster: home === undefined ? cluster : { ...cluster, server: `${connection.server}/clusters/${home}` }, user });
  write(`You are ${who} at ${new URL(server).origin}. The context ${name} in ${file.path} is the current one.`);
  if (home !== undefined) write(`It begins in ${home}, the workspace of your own. "capstan ws use" leads to others.`);
}

/** The home of a user who has no right to work in root; undefined for the others, who begin in root. */
async function beginning(connection: Connection): Promise<string | undefined> {
  using client = new Client(connection, { userAgent });
  return (await worksInRoot(client)) ? undefined : await homePath(client);
}

function clusterOf(server: string, { certificateAuthority, insecureSkipTlsVerify, workspace }: LoginFlags): JsonObject {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new Failure(
      'usage',
      `expected the address of a server such as https://capstan.example.com:6443, found ${JSON.stringify(server)}.`,
    );
  const base = server.replace(/\/+$/, '');
  return {
    server: workspace === undefined ? base : `${base.replace(/\/clusters\/[^/]+$/, '')}/clusters/${workspace}`,
    ...(certificateAuthority !== undefined && { 'certificate-authority-data': fileOf(certificateAuthority).toString('base64') }),
    ...(insecureSkipTlsVerify === true && { 'insecure-skip-tls-verify': true }),
  };
}

function fileOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Failure('usage', `--certificate-authority: ${path} cannot be read: ${(error as Error).message}.`, error);
  }
}

async function userOf({ token, tokenStdin, issuer, clientId, clientSecret }: LoginFlags): Promise<JsonObject> {
  if (issuer !== undefined) {
    if (clientId === undefined) throw new Failure('usage', '--issuer needs --client-id, the name of this application at the issuer.');
    const onCode = (where: string, code: string): void => void process.stderr.write(`Open ${where} and enter the code ${code}.\n`);
    const { idToken, refreshToken } = await signIn({ issuer, clientId, clientSecret, onCode });
    const config = {
      'idp-issuer-url': issuer,
      'client-id': clientId,
      'id-token': idToken,
      ...(clientSecret !== undefined && { 'client-secret': clientSecret }),
      ...(refreshToken !== undefined && { 'refresh-token': refreshToken }),
    };
    return { 'auth-provider': { name: 'oidc', config } };
  }
  // A token on the command line can be seen by other users of the machine.
  const given = tokenStdin === true ? (await text(process.stdin)).trim() : (token ?? process.env['CAPSTAN_TOKEN'] ?? '');
  if (given === '')
    throw new Failure(
      'usage',
      'expected a token: "capstan login SERVER --token-stdin < file", $CAPSTAN_TOKEN, or --issuer and --client-id to sign in with a browser.',
    );
  return { token: given };
}

function connectionFor(cluster: JsonObject, user: JsonObject): Connection {
  const config = {
    clusters: [{ name: 'x', cluster }],
    users: [{ name: 'x', user }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    'current-context': 'x',
  };
  return connectionOf(parseKubeconfig(dump(config), ''));
}

export async function whoIs(connection: Connection, server: string): Promise<string> {
  using client = new Client(connection, { userAgent, retry: { attempts: 1 } });
  try {
    const answer = await client
      .cluster('root')
      .resource(reviews)
      .create({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} });
    const { username = '' } = (answer['status'] as { userInfo?: { username?: string } } | undefined)?.userInfo ?? {};
    if (username !== '' && username !== 'system:anonymous') return username;
    throw new Failure('usage', `${server} does not know this token.`);
  } catch (error) {
    if (error instanceof ApiError && error.code === 401) throw new Failure('usage', `${server} does not accept this token.`, error);
    if (error instanceof ConnectionError) throw new Failure('unexpected', `${error.message}.${hintFor(error)}`, error);
    throw error;
  }
}

function hintFor(error: ConnectionError): string {
  const { code = '' } = (error.cause as NodeJS.ErrnoException | undefined) ?? {};
  const isCertificate = /CERT|SIGNATURE|ISSUER/.test(code);
  return isCertificate
    ? ' Name the authority of its certificate with --certificate-authority, such as capstan-data/pki/ca.crt of the server.'
    : '';
}

/** Forgets the credentials of the current context. */
export function logout({ kubeconfig, context }: ConnectionFlags): void {
  const file = KubeconfigFile.read(kubeconfig);
  const name = context ?? file.currentContext;
  const { token: _, tokenFile: __, 'auth-provider': ___, password: ____, username: _____, ...rest } = file.userOf(name);
  const before = Object.keys(file.userOf(name)).length;
  if (Object.keys(rest).length === before)
    throw new Failure('usage', `the context ${name} has no token to forget. Remove it with "capstan context delete ${name}".`);
  file.putUser(name, rest);
  write(`The token of the context ${name} was removed from ${file.path}. It stays valid until it expires or is revoked.`);
}

/** Who the current context is. */
export async function whoAmI(flags: ConnectionFlags): Promise<void> {
  const { connection } = workspaceClient(flags);
  write(await whoIs(connection, connection.server));
}
