import { createHash } from 'node:crypto';
import {
  appInstanceKind,
  appMemberKind,
  appOperationKind,
  customResourceDefinition,
  appsGroup as group,
  type KindDefinition,
  resourceSchemaSpec,
} from '@capstan/api';
import type { KubeObject } from '@capstan/machinery';
import { fleetPath, platform } from '../../node-agents/testing/fleet.ts';
import { createWorkspace, type TestServer } from '../../testing/harness.ts';

export { appsGroup as group } from '@capstan/api';
export const appKinds: readonly KindDefinition[] = [appInstanceKind, appMemberKind, appOperationKind];
export const appsIn = (cluster: string): string => `/clusters/${cluster}/apis/${group}/v1alpha1/namespaces/default`;

const apis = (cluster: string, version: string, resource: string): string => `/clusters/${cluster}/apis/apis.kcp.io/${version}/${resource}`;
const identity = createHash('sha256').update('apps').digest('hex');

/** Writes the objects of apps that controllers write in a real platform. */
export class AppsOfTenants {
  readonly #server: Pick<TestServer, 'call'>;

  constructor(server: Pick<TestServer, 'call'>) {
    this.#server = server;
  }

  async write(path: string, body: object, method = 'POST'): Promise<KubeObject> {
    const { code, text } = await this.#server.call(path, { method, body });
    if (code >= 300) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as KubeObject;
  }

  /** Exports the kinds from root:platform and binds them, as controllers do. */
  async bind(consumer: string): Promise<void> {
    const schemas: KubeObject[] = [];
    for (const kind of appKinds) {
      const metadata = { name: `today.${kind.resource}.${group}` };
      const schema = { apiVersion: 'apis.kcp.io/v1alpha1', kind: 'APIResourceSchema', metadata, spec: resourceSchemaSpec(kind) };
      const made = await this.write(apis(platform, 'v1alpha1', 'apiresourceschemas'), schema);
      schemas.push(made);
      const copy = { ...made, metadata: { name: `${made.metadata.uid}.${kind.resource}.${group}` } };
      await this.write(apis('system:bound-crds', 'v1alpha1', 'apiresourceschemas'), copy);
    }
    const resources = appKinds.map(({ resource }) => ({
      group,
      name: resource,
      schema: `today.${resource}.${group}`,
      storage: { crd: {} },
    }));
    const head = { apiVersion: 'apis.kcp.io/v1alpha2', metadata: { name: group } };
    const exports = apis(platform, 'v1alpha2', 'apiexports');
    const exported = await this.write(exports, { ...head, kind: 'APIExport', spec: { resources } });
    await this.write(`${exports}/${group}/status`, { ...exported, status: { identityHash: identity } }, 'PUT');
    const spec = { reference: { export: { path: 'root:platform', name: group } } };
    const binding = await this.write(apis(consumer, 'v1alpha2', 'apibindings'), { ...head, kind: 'APIBinding', spec });
    const boundResources = appKinds.map(({ resource }, index) => {
      const { name, uid: UID } = schemas[index]!.metadata;
      return { group, resource, schema: { name, UID, identityHash: identity }, storageVersions: ['v1alpha1'] };
    });
    const status = { apiExportClusterName: platform, phase: 'Bound', boundResources };
    await this.write(`${apis(consumer, 'v1alpha2', 'apibindings')}/${group}/status`, { ...binding, status }, 'PUT');
  }

  /** `tenant1` has bound the kinds, and `tenant2` has defined kinds of the same names itself. */
  async createTenants(): Promise<void> {
    for (const cluster of ['tenant1', 'tenant2']) await this.createProject(cluster);
    await this.bind('tenant1');
    for (const kind of appKinds)
      await this.write('/clusters/tenant2/apis/apiextensions.k8s.io/v1/customresourcedefinitions', customResourceDefinition(kind));
    await Promise.all([this.served('tenant1'), this.served('tenant2')]);
  }

  async createProject(cluster: string): Promise<void> {
    await createWorkspace(this.#server, cluster);
    await this.write(`/clusters/${cluster}/api/v1/namespaces`, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } });
  }

  async served(cluster: string): Promise<void> {
    for (let tries = 0; (await this.#server.call(`${appsIn(cluster)}/appmembers`)).code !== 200; tries++) {
      if (tries === 500) throw new Error('the kinds are not served');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Returns the UID. */
  async createInstance(cluster: string, name: string, access: object = {}): Promise<string> {
    const path = `${appsIn(cluster)}/appinstances`;
    const body = { apiVersion: `${group}/v1alpha1`, kind: 'AppInstance', metadata: { name }, spec: { app: 'rke2', placement: {} } };
    const made = await this.write(path, body);
    await this.write(`${path}/${name}/status`, { ...made, status: { state: 'running', access } }, 'PUT');
    return made.metadata.uid!;
  }

  async createMember(cluster: string, name: string, spec: object, health = 'healthy'): Promise<void> {
    const path = `${appsIn(cluster)}/appmembers`;
    const full = { instance: 'k8s', component: 'server', allocation: `a-${name}`, node: name, ...spec };
    const made = await this.write(path, { apiVersion: `${group}/v1alpha1`, kind: 'AppMember', metadata: { name }, spec: full });
    await this.write(`${path}/${name}/status`, { ...made, status: { health } }, 'PUT');
  }

  async book(node: string, { cluster = 'tenant1', state = 'Granted', exclusive = true, allocation = `a-${node}` } = {}): Promise<void> {
    const reference = { cluster, namespace: 'default', name: allocation, uid: `uid-${allocation}` };
    const entry = { allocation: reference, attempt: '1', state, exclusive, devices: [], cpu: 0, memory: 0 };
    await this.write(`${fleetPath}/nodebookings`, {
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'NodeBooking',
      metadata: { name: node },
      spec: { entries: [entry] },
    });
  }
}
