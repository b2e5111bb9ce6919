import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AdminCertificate,
  type AppInstance,
  accessGroupsHeader,
  accessProxyPath,
  adminCertificateLife,
  adminCertificateSubresource,
  appInstanceKind,
  appsGroup,
  clusterAdminsGroup,
  nameInCluster,
} from '@capstan/api';
import { isObject, type JsonObject, status } from '@capstan/machinery';
import { parseCertificateRequest } from '@capstan/pki';
import type { OwnSubresource } from '../connect/own-subresource.ts';
import { readWhole } from '../connect/relay.ts';
import { askNode, type NodeInTunnel } from '../connect/tunnel-request.ts';
import type { Tunnels } from '../connect/tunnels.ts';
import type { RequestContext } from '../registry/context.ts';
import type { AppObjects } from './members.ts';
import { serverOf } from './proxy.ts';

const largestBody = 64 << 10;
const largestAnswer = 1 << 20;
/** Tries, and milliseconds between them, until the controllers of the cluster have signed a request. */
const tries = 60;
const pause = 250;

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const rootAuthority = '/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt';

/**
 * `appinstances/admincertificate`: a short-lived certificate of the cluster's own authority for an administrator, who needs it when the platform cannot be reached. The cluster and our
 * audit log know the name of the user; the private key never leaves the client.
 */
export function adminCertificate(objects: AppObjects, tunnels: Tunnels): OwnSubresource {
  return {
    group: appsGroup,
    resource: appInstanceKind.resource,
    subresource: adminCertificateSubresource,
    isPowerful: true,
    async serve({ stream, context, object, resource }) {
      if (!objects.isOfPlatform(resource)) throw status.notFound(resource, context.info.name);
      const { exchange, signal } = stream;
      if (exchange.method !== 'POST') throw status.methodNotAllowed();
      const wanted = parsed((await exchange.body(largestBody)).toString('utf8'), context.user.name);
      const instance = object as AppInstance;
      const server = instance.status?.access?.endpoints?.[0]?.address;
      const node = await serverOf({ objects, tunnels }, { context, instance });
      if (server === undefined) throw status.serviceUnavailable(`the instance ${context.info.name} has no address yet`);
      const cluster = new ClusterApi(node, context, { instance, signal });
      const certificate = await issue(cluster, wanted, signal);
      const { data } = await cluster.ask('GET', rootAuthority);
      const authority = isObject(data) ? data['ca.crt'] : undefined;
      if (typeof authority !== 'string') throw status.serviceUnavailable('the cluster has not published its authority yet');
      exchange.header('Cache-Control', 'no-store');
      const body: AdminCertificate = { spec: wanted, status: { certificate, authority, server } };
      exchange.send({ code: 201, type: 'application/json', body: JSON.stringify(body) });
    },
  };
}

type Wanted = Required<AdminCertificate['spec']>;

/** The request of a user, for whom nobody else can ask. */
function parsed(text: string, user: string): Wanted {
  let spec: unknown;
  try {
    spec = (JSON.parse(text) as { spec?: unknown }).spec;
  } catch {
    // Reported below.
  }
  if (!isObject(spec) || typeof spec['request'] !== 'string') throw status.badRequest('expected a certificate request in spec.request');
  const { usual, least, most } = adminCertificateLife;
  const { request, expirationSeconds = usual } = spec as { request: string; expirationSeconds?: unknown };
  if (!Number.isInteger(expirationSeconds) || (expirationSeconds as number) < least || (expirationSeconds as number) > most)
    throw status.badRequest(`expected spec.expirationSeconds from ${least} to ${most}`);
  const found = parseCertificateRequest(request);
  if (typeof found === 'string') throw status.badRequest(`spec.request is no certificate request: ${found}`);
  const name = nameInCluster(user);
  const { commonName, organizations, organizationalUnits } = found;
  if (commonName !== name || organizations.join() !== clusterAdminsGroup || organizationalUnits.length > 0)
    throw status.badRequest(`expected a request of ${name} in ${clusterAdminsGroup}, found ${commonName} in ${organizations.join(', ')}`);
  return { request, expirationSeconds: expirationSeconds as number };
}

/** Lets the cluster sign a request, and leaves nothing behind in it. */
async function issue(cluster: ClusterApi, { request, expirationSeconds }: Wanted, signal: AbortSignal): Promise<string> {
  const name = `capstan-admin-${randomBytes(6).toString('hex')}`;
  const made = await cluster.ask('POST', requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client',
      expirationSeconds,
      usages: ['client auth'],
    },
  });
  try {
    const approved = { type: 'Approved', status: 'True', reason: 'AskedFor', message: 'asked for with capstan app kubeconfig --admin' };
    await cluster.ask('PUT', `${requests}/${name}/approval`, { ...made, status: { conditions: [approved] } });
    for (let attempt = 0; attempt < tries; attempt++) {
      const { status: seen } = await cluster.ask('GET', `${requests}/${name}`);
      if (isObject(seen) && typeof seen['certificate'] === 'string') return Buffer.from(seen['certificate'], 'base64').toString('utf8');
      await sleep(pause, undefined, { signal });
    }
  } finally {
    await cluster.ask('DELETE', `${requests}/${name}`).catch(() => {});
  }
  throw status.serviceUnavailable('the controllers of the cluster did not sign the certificate');
}

/** The Kubernetes API of an instance, as the user and in the group of its administrators. */
class ClusterApi {
  readonly #node: NodeInTunnel;
  readonly #context: RequestContext;
  readonly #target: { readonly instance: AppInstance; readonly signal: AbortSignal };

  constructor(node: NodeInTunnel, context: RequestContext, target: { readonly instance: AppInstance; readonly signal: AbortSignal }) {
    this.#node = node;
    this.#context = context;
    this.#target = target;
  }

  async ask(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const { instance, signal } = this.#target;
    const response = await askNode(this.#node, this.#context, {
      method,
      path: `/node${accessProxyPath(instance.metadata.uid ?? '')}${path}`,
      headers: {
        [accessGroupsHeader]: encodeURIComponent(clusterAdminsGroup),
        accept: 'application/json',
        'content-type': 'application/json',
      },
      body: Readable.from(body === undefined ? [] : [JSON.stringify(body)], { objectMode: false }),
      signal,
    });
    const answer = parsedAnswer(await readWhole(response.stream, largestAnswer));
    if (response.status < 300) return answer;
    throw status.serviceUnavailable(`the cluster answered ${response.status}: ${JSON.stringify(answer['message'] ?? 'no reason')}`);
  }
}

function parsedAnswer(text: string): JsonObject {
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) ? (answer as JsonObject) : {};
  } catch {
    return {};
  }
}
