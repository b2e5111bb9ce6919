import { request as httpsRequest } from 'node:https';
import { accessGroupsHeader, accessMethodHeader, nameInCluster } from '@capstan/api';
import { upgradeHeader } from '@capstan/streams';
import { forward, queryOf } from '../requests/forward.ts';
import type { RoutedRequest } from '../requests/router.ts';
import type { ClusterConnection } from './cluster-credentials.ts';

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

/** Headers by which a client would say who it is. Underscores count as dashes, since some servers read them so. */
const ofIdentity = /^(?:authorization|impersonate-.*|x-remote-.*)$/;

/** Passes a request on to the Kubernetes API of an instance, in the name of the user who asked. `path` is that of the API. */
export async function proxyToCluster(request: NodeRequest, path: string, { host, port, agent }: ClusterConnection): Promise<void> {
  const isUpgrade = request.headers[upgradeHeader] !== undefined;
  const method = isUpgrade ? (request.headers[accessMethodHeader] ?? 'GET') : request.method;
  const groups = (request.headers[accessGroupsHeader] ?? '')
    .split(',')
    .filter((one) => one !== '')
    .map(decodeURIComponent);
  await forward(request, {
    target: 'the Kubernetes API of this instance',
    begin: (headers) =>
      httpsRequest({
        host,
        port,
        agent,
        method,
        path: `${path}${queryOf(request.path)}`,
        headers: {
          ...withoutIdentity(headers),
          host: `${host}:${port}`,
          'impersonate-user': headerText(nameInCluster(request.user)),
          'impersonate-group': groups,
        },
      }),
  });
}

function withoutIdentity(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofIdentity.test(name.toLowerCase().replaceAll('_', '-'))));
}

/** Kubernetes reads headers as UTF-8, and Node writes one byte for each character. */
const headerText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
