import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { request as httpsRequest } from 'node:https';
import {
  customResourceDefinition,
  definedKinds,
  enrollmentToken,
  enrollPath,
  fleetGroup,
  type IssuedCertificate,
  type KindDefinition,
  nodeAgentGroup,
  nodeAgentUser,
  renewPath,
} from '@capstan/api';
import { createCertificateRequest, renewalProof } from '@capstan/pki';
import { createWorkspace, type Reply, type TestServer } from '../../testing/harness.ts';

/** The id of `root:platform` in these tests. */
export const platform = 'platform0';
export const fleetPath = `/clusters/root:platform/apis/fleet.capstan.dev/v1alpha1`;

/** Creates root:platform, and defines the kinds of the fleet in it. */
export async function createPlatform(server: Pick<TestServer, 'url' | 'call'>): Promise<void> {
  await createWorkspace(server, platform);
  const workspace = {
    apiVersion: 'tenancy.kcp.io/v1alpha1',
    kind: 'Workspace',
    metadata: { name: 'platform' },
    spec: { cluster: platform, URL: `${server.url}/clusters/${platform}`, type: { name: 'universal', path: 'root' } },
  };
  expectCode(await server.call('/apis/tenancy.kcp.io/v1alpha1/workspaces', { method: 'POST', body: workspace }), 201);
  const kinds = definedKinds.filter(({ group }) => group === fleetGroup);
  await Promise.all(kinds.map((kind) => define(server, kind)));
}

async function define(server: Pick<TestServer, 'call'>, kind: KindDefinition): Promise<void> {
  const definitions = `/clusters/${platform}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
  expectCode(await server.call(definitions, { method: 'POST', body: customResourceDefinition(kind) }), 201);
  for (let tries = 0; (await server.call(`${fleetPath}/${kind.resource}`)).code !== 200; tries++) {
    if (tries === 500) throw new Error(`${kind.resource} are not served`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function expectCode(reply: Reply, code: number): void {
  if (reply.code !== code) throw new Error(`expected ${code}, found ${reply.code}: ${reply.text}`);
}

/** Creates a NodeEnrollment and returns its token. */
export async function invite(
  server: Pick<TestServer, 'call'>,
  node: string,
  { name = `join-${node}`, expiresAt = '2999-01-01T00:00:00Z' } = {},
): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const secretHash = createHash('sha256').update(secret).digest('hex');
  const body = {
    apiVersion: 'fleet.capstan.dev/v1alpha1',
    kind: 'NodeEnrollment',
    metadata: { name },
    spec: { node, secretHash, expiresAt },
  };
  expectCode(await server.call(`${fleetPath}/nodeenrollments`, { method: 'POST', body }), 201);
  return enrollmentToken(name, secret);
}

export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export const requestFor = (node: string, key: KeyObject): string =>
  createCertificateRequest({ commonName: nodeAgentUser(node), organizations: [nodeAgentGroup], key });

export function enroll(
  server: Pick<TestServer, 'call'>,
  { token, node, key }: { token: string; node: string; key: KeyObject },
): Promise<Reply> {
  const headers = { authorization: `Bearer ${token}` };
  return server.call(enrollPath, { method: 'POST', anonymous: true, headers, body: { request: requestFor(node, key) } });
}

export interface Agent {
  readonly node: string;
  readonly key: KeyObject;
  readonly certificate: string;
}

export async function enrolled(server: TestServer, node: string): Promise<Agent> {
  const key = newKey();
  const reply = await enroll(server, { token: await invite(server, node), node, key });
  expectCode(reply, 200);
  return { node, key, certificate: (reply.json() as unknown as IssuedCertificate).certificate };
}

export function renew(server: TestServer, { node, key, certificate }: Agent, next: KeyObject): Promise<Reply> {
  const request = requestFor(node, next);
  return server.call(renewPath, { method: 'POST', anonymous: true, body: { certificate, request, proof: renewalProof(key, request) } });
}

/** The same agent after a renewal. */
export async function renewed(server: TestServer, agent: Agent): Promise<Agent> {
  const key = newKey();
  const reply = await renew(server, agent, key);
  expectCode(reply, 200);
  return { ...agent, key, certificate: (reply.json() as unknown as IssuedCertificate).certificate };
}

/** The reason in the refusal of a certificate. */
export const refusalOf = (reply: Reply): string | undefined =>
  (JSON.parse(reply.text) as { details?: { causes?: { reason?: string }[] } }).details?.causes?.[0]?.reason;

interface AgentCall {
  readonly method?: string;
  readonly body?: object;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request with the certificate of an agent, on a connection of its own. `ended` resolves when the connection has. */
export function callAs(
  server: TestServer,
  { key, certificate }: Pick<Agent, 'key' | 'certificate'>,
  path: string,
  { method = 'GET', body, type = 'application/json', headers = {} }: AgentCall = {},
): Promise<{ code: number; text: string; ended: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(`${server.url}${path}`, {
      method,
      agent: false,
      rejectUnauthorized: false,
      cert: certificate,
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      headers: { ...headers, ...(body !== undefined && { 'content-type': type }) },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      let text = '';
      const isWatch = path.includes('watch=');
      const ended = new Promise<void>((done) => incoming.once('close', () => done()));
      incoming.on('error', () => {});
      incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const answer = () => resolve({ code: incoming.statusCode ?? 0, text, ended });
      if (isWatch) answer();
      else incoming.once('end', answer);
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
