import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { customResourceDefinition, definedKinds, type GPUUnit, gpuUnitKind, offeringKind } from '@capstan/api';
import { Client, connectionOf, loadKubeconfig } from '@capstan/client';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { FakeKubelet } from '@capstan/streams/testing';
import { type RunningCapstan, startCapstan, TestAuthority, temporaryDirectory } from '@capstan/testbed';

const pods = { group: '', version: 'v1', resource: 'pods', namespaced: true };
const nodes = { group: '', version: 'v1', resource: 'nodes', namespaced: false };
const definitions = { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions', namespaced: false };

/** An API server with units that no controller looks after: a fake kubelet serves their streams. */
export interface UnitServer extends AsyncDisposable {
  readonly server: RunningCapstan;
  readonly kubelet: FakeKubelet;
  readonly client: Client;
  /** Where commands in units run. */
  readonly inside: string;
  /** Creates a unit and the Pod that shows it. */
  unit(name: string, status: object, spec?: object): Promise<void>;
}

export async function startUnitServer(): Promise<UnitServer> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startCapstan({ store: 'sqlite' }));
  const pki = (name: string): string => readFileSync(resolve(server.dataDirectory, 'pki', name), 'utf8');
  const identities = stack.use(temporaryDirectory('kubelet'));
  const authority = TestAuthority.of({ certificate: pki('ca.crt'), key: pki('ca.key') }, identities.path);
  const inside = stack.use(temporaryDirectory('inside'));
  const serving = await authority.issue('/CN=kubelet', ['127.0.0.1']);
  const kubelet = stack.use(await FakeKubelet.start({ ...serving, authority: authority.certificate, directory: inside.path }));
  const client = stack.use(new Client(connectionOf(loadKubeconfig({ path: server.kubeconfig }))));
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
  };
  await client.resource(nodes).create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
  await client.resource(nodes).patch('n1', { type: 'merge', patch: { status } as JsonObject }, { subresource: 'status' });
  for (const kind of definedKinds.filter(({ kind: one }) => one === gpuUnitKind.kind || one === offeringKind.kind))
    await client.resource(definitions).create(customResourceDefinition(kind) as unknown as KubeObject);
  const units = client.resource<GPUUnit>(gpuUnitKind).in('default');
  for (let tries = 0; ; tries++) {
    try {
      await units.list();
      break;
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((done) => setTimeout(done, 20));
    }
  }
  const owned = stack.move();
  return {
    server,
    kubelet,
    client,
    inside: inside.path,
    async unit(name, unitStatus, spec = {}) {
      const metadata = { name, namespace: 'default' };
      const given = { command: ['true'], offering: 'small', ...spec };
      await units.create({ apiVersion: 'compute.capstan.dev/v1alpha1', kind: 'GPUUnit', metadata, spec: given } as unknown as GPUUnit);
      await units.patch(name, { type: 'merge', patch: { status: unitStatus } as JsonObject }, { subresource: 'status' });
      await client.resource(pods).create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata,
        spec: { nodeName: 'n1', containers: [{ name: 'unit', image: 'x', stdin: true, tty: true }] },
      } as KubeObject);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
