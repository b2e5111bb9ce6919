import { appInstanceKind, authorityPath } from '@capstan/api';
import type { List } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { Problem } from '../problems/problem.ts';
import type { Call, Reply } from '../routes/call.ts';
import { instanceOf } from './instance.ts';

/** `GET …/{id}/access`. */
export async function readAccess(call: Call): Promise<Reply> {
  const { instance } = await instanceOf(call);
  return { status: 200, body: instance.status?.access ?? {} };
}

/**
 * `GET …/{id}/kubeconfig?server=…`: a kubeconfig with the caller's own token. Requests go to our API server, which passes them on in the name of the caller, so it contains no
 * credentials of the cluster.
 */
export async function readKubeconfig(call: Call): Promise<Reply> {
  const { instance, place } = await instanceOf(call);
  if (instance.status?.access?.kubeconfig !== true) throw new Problem('not_found', 'The instance has no Kubernetes API, or not yet.');
  const server = call.query.get('server') ?? '';
  if (!/^https:\/\/[^\s/]+$/.test(server))
    throw new Problem(
      'invalid_parameter',
      'server: expected the address of the API server as you reach it, such as https://capstan.example.com:6443.',
    );
  const { group, version, resource } = appInstanceKind;
  const name = instance.metadata.name ?? '';
  const path = `/clusters/${place.workspace}/apis/${group}/${version}/namespaces/${place.namespace}/${resource}/${name}/proxy`;
  const authority = await call.upstream.text({ method: 'GET', path: authorityPath, authorization: call.authorization });
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: `${server}${path}`, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: [{ name: 'capstan', user: { token: call.authorization.replace(/^Bearer\s+/i, '') } }],
    contexts: [{ name, context: { cluster: name, user: 'capstan' } }],
    'current-context': name,
  };
  return { status: 200, body: config, headers: { 'cache-control': 'no-store' } };
}

interface EventObject extends KubeObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
}

/** `GET …/{id}/events`: the newest last. */
export async function readEvents(call: Call): Promise<Reply> {
  const { instance, place } = await instanceOf(call);
  const selector = encodeURIComponent(`involvedObject.uid=${instance.metadata.uid ?? ''}`);
  const path = `/clusters/${place.workspace}/api/v1/namespaces/${place.namespace}/events?fieldSelector=${selector}`;
  const { items } = await call.upstream.json<List<EventObject>>({ method: 'GET', path, authorization: call.authorization });
  const events = items.map(({ type = 'Normal', reason = '', message = '', count = 1, firstTimestamp, lastTimestamp }) => ({
    type,
    reason,
    message,
    count,
    ...(firstTimestamp !== undefined && { firstSeen: firstTimestamp }),
    ...(lastTimestamp !== undefined && { lastSeen: lastTimestamp }),
  }));
  return { status: 200, body: { items: events.toSorted((one, other) => ((one.lastSeen ?? '') < (other.lastSeen ?? '') ? -1 : 1)) } };
}
