import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FakeKubelet } from '@capstan/streams/testing';
import { type Connection, TestAuthority, temporaryDirectory } from '@capstan/testbed';
import { makeNamespace, mustAsk } from '../client/ask.ts';
import type { Subject } from '../profiles/profile.ts';

/** A node of the measured server, and a pod on it. Its kubelet runs in this process. */
export interface LoadNode extends AsyncDisposable {
  readonly kubelet: FakeKubelet;
  /** The path of the pod. */
  readonly pod: string;
}

export async function startNode({ name: kubeconfig, address }: Subject, namespace: string): Promise<LoadNode> {
  await using stack = new AsyncDisposableStack();
  const pki = (name: string): string => readFileSync(join(dirname(kubeconfig), 'pki', name), 'utf8');
  const identities = stack.use(temporaryDirectory('kubelet'));
  const authority = TestAuthority.of({ certificate: pki('ca.crt'), key: pki('ca.key') }, identities.path);
  const serving = await authority.issue('/CN=kubelet', ['127.0.0.1']);
  const kubelet = stack.use(await FakeKubelet.start({ ...serving, authority: authority.certificate }));
  await makeNamespace(address, namespace);
  await createNode(address, namespace, kubelet.port);
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const spec = { nodeName: namespace, containers: [{ name: 'main', image: 'x' }] };
  await mustAsk(address, { method: 'POST', path: pods, body: JSON.stringify({ metadata: { name: 'busy' }, spec }) });
  const owned = stack.move();
  return { kubelet, pod: `${pods}/busy`, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function createNode(address: Connection, name: string, port: number): Promise<void> {
  const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint: { Port: port } } };
  await mustAsk(address, { method: 'POST', path: '/api/v1/nodes', body: JSON.stringify({ metadata: { name } }) });
  const contentType = 'application/merge-patch+json';
  await mustAsk(address, { method: 'PATCH', path: `/api/v1/nodes/${name}/status`, body: JSON.stringify({ status }), contentType });
}
