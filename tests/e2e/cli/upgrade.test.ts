import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import {
  fleetQuotaKind,
  gpuStorageKind,
  type KindDefinition,
  type KindReference,
  type KindVersion,
  newObject,
  nodeScriptKind,
  resourceSchemaSpec,
  type Workspace,
  workspaceKind,
} from '@capstan/api';
import { Client, connectionOf, isNotFound, loadKubeconfig } from '@capstan/client';
import { compute } from '@capstan/compute';
import { fleetProduct } from '@capstan/fleet';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { type Product, platformManager } from '@capstan/platform';
import { Child, capstanProgram, freePort, type RunningCapstan, startCapstan, startControllerManager } from '@capstan/testbed';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

const patience = { timeout: 60_000, interval: 50 };
const released = resolve(import.meta.dirname, '../../../packages/api/released');
const [lastRelease] = readdirSync(released);

/** A part of the spec of an APIResourceSchema. */
interface ReleasedSchema {
  readonly names: { readonly shortNames?: readonly string[]; readonly categories?: readonly string[] };
  readonly versions: readonly {
    readonly name: string;
    readonly additionalPrinterColumns: readonly { readonly jsonPath: string }[];
    readonly schema: JsonObject & { readonly description: string; readonly properties: Readonly<Record<string, JsonObject>> };
  }[];
}

/** The kind as it was in the last release. */
function asReleased(kind: KindDefinition): KindDefinition {
  const file = join(released, lastRelease!, `${kind.resource}.${kind.group}.json`);
  const spec = JSON.parse(readFileSync(file, 'utf8')) as JsonObject;
  const { names, versions } = spec as unknown as ReleasedSchema;
  const before = {
    ...kind,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    description: versions[0]!.schema.description,
    versions: Object.fromEntries(versions.map((version) => [version.name, versionOf(version)])),
  };
  expect(resourceSchemaSpec(before)).toEqual(spec);
  return before;
}

function versionOf({ schema, additionalPrinterColumns, ...facts }: ReleasedSchema['versions'][number]): KindVersion {
  const { spec, status } = schema.properties;
  const rules = schema['x-kubernetes-validations'];
  return {
    ...facts,
    ...(spec && {
      spec: { json: spec, presence: (schema['required'] as string[] | undefined)?.includes('spec') ? 'required' : 'optional' },
    }),
    ...(status && { status: { json: status, presence: 'optional' } }),
    ...(rules !== undefined && { rules }),
    columns: additionalPrinterColumns.map(({ jsonPath, ...column }) => ({ ...column, path: jsonPath })),
  } as unknown as KindVersion;
}

/** Content without controllers: these objects are not for them. */
function withKinds(product: Product, change: (kind: KindDefinition) => KindDefinition): Product {
  const kinds = new Map(product.kinds.map((kind) => [kind, change(kind)]));
  const { content: _, catalogs, ...rest } = product;
  return {
    ...rest,
    kinds: [...kinds.values()],
    ...(catalogs && { catalogs: catalogs.map((kind) => kinds.get(kind)!) }),
    controllers: [],
  };
}

/** Another field, with a default, and another version, in which objects are stored. */
function newer(kind: KindDefinition): KindDefinition {
  if (kind.resource !== nodeScriptKind.resource) return asReleased(kind);
  const before = asReleased(kind);
  const version = before.versions['v1alpha1']!;
  const json = version.spec!.json as JsonObject & { properties: JsonObject };
  const language = { type: 'string', description: 'Language of the script.', maxLength: 20, default: 'sh' };
  const spec = { ...version.spec!, json: { ...json, properties: { ...json.properties, language } } };
  return { ...before, version: 'v1beta1', versions: { v1beta1: { ...version, spec }, v1alpha1: { ...version, spec } } };
}

const fleet = fleetProduct({});
const former = [fleet, compute].map((product) => withKinds(product, asReleased));
const next = [fleet, compute].map((product) => withKinds(product, newer));
const preview: KindReference = { ...nodeScriptKind, version: 'v1beta1' };
const policies = (resource: string): KindReference => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource,
  namespaced: false,
  kind: '',
});

describe('an installation with content of the last release', { timeout: 180_000 }, () => {
  const stack = new AsyncDisposableStack();
  let server: RunningCapstan;
  let controllers: Child;
  let client: Client;
  let platform: Client;
  const scripts = (kind: KindReference = nodeScriptKind) => platform.resource<KubeObject>(kind);
  const storages = () => client.cluster('root:main:shop').resource<KubeObject>(gpuStorageKind).in('default');

  const connect = (): void => {
    client = stack.use(new Client(connectionOf(loadKubeconfig({ path: server.kubeconfig }))));
    platform = client.cluster('root:platform');
  };

  /** Runs `platform-controllers` with these products during the work. */
  async function during(products: readonly Product[], work: () => Promise<void>): Promise<void> {
    const path = join(server.dataDirectory, 'platform-controllers.kubeconfig');
    using running = platformManager({
      products,
      connection: connectionOf(loadKubeconfig({ path })),
      stopWithin: 1,
      content: { interval: 500, retry: { base: 20, max: 100 } },
      log: () => {},
    });
    const stop = new AbortController();
    const ended = running.manager.run(stop.signal);
    try {
      await work();
    } finally {
      stop.abort();
      await ended;
    }
  }

  beforeAll(async () => {
    server = stack.use(await startCapstan({ store: 'sqlite' }));
    controllers = stack.use(await startControllerManager(server));
    connect();
  });
  afterAll(() => stack.disposeAsync());

  test('stores objects', () =>
    during(former, async () => {
      const script = newObject(nodeScriptKind, { metadata: { name: 'greet' }, spec: { content: '#!/bin/sh\necho hello\n' } });
      await vi.waitFor(() => scripts().create(script), patience);
      const spec = { workspace: 'root:main:shop', limits: { gpus: 8 } };
      await platform.resource(fleetQuotaKind).create(newObject(fleetQuotaKind, { metadata: { name: 'shop' }, spec }));
      const project = { type: { name: 'project', path: 'root' } };
      await vi.waitFor(
        () =>
          client
            .cluster('root:main')
            .resource<Workspace>(workspaceKind)
            .create({ apiVersion: 'tenancy.kcp.io/v1alpha1', kind: 'Workspace', metadata: { name: 'shop' }, spec: project }),
        patience,
      );
      const storage = newObject(gpuStorageKind, { metadata: { name: 'data', namespace: 'default' }, spec: { size: '1Gi' } });
      await vi.waitFor(() => storages().create(storage), patience);
    }));

  test('serves them with another field and another version of a newer schema, and takes both', () =>
    during(next, async () => {
      await vi.waitFor(async () => expect(await scripts(preview).get('greet')).toMatchObject({ spec: { language: 'sh' } }), patience);
      const found = await scripts(preview).get('greet');
      expect(found).toMatchObject({ apiVersion: 'fleet.capstan.dev/v1beta1', spec: { content: '#!/bin/sh\necho hello\n' } });
      await scripts(preview).update({ ...found, spec: { ...(found['spec'] as object), language: 'bash' } });
      expect(await scripts().get('greet')).toMatchObject({ apiVersion: 'fleet.capstan.dev/v1alpha1', spec: { language: 'bash' } });
      const { items } = await scripts(preview).list();
      expect(items.map(({ apiVersion }) => apiVersion)).toEqual(['fleet.capstan.dev/v1beta1']);
    }));

  test('goes back to the content before: the objects are read and written as they were', () =>
    during(former, async () => {
      await vi.waitFor(() => expect(scripts(preview).get('greet')).rejects.toSatisfy(isNotFound), patience);
      const found = await scripts().get('greet');
      expect(found['spec']).toEqual({ content: '#!/bin/sh\necho hello\n' });
      await scripts().update({ ...found, spec: { content: '#!/bin/sh\necho back\n' } });
    }));

  test('is upgraded by the next `capstan up`, which names a product that cannot be installed and installs the others', async () => {
    await refuseRole(platform);
    await controllers.stop();
    await server.stop();
    const port = await freePort();
    const args = ['up', '--no-node', '--data-dir', server.dataDirectory, '--port', String(port)];
    await using up = new Child('capstan up', [process.execPath, capstanProgram, ...args]);
    await up.waitUntil('announced', () => up.output.includes('Capstan is ready'));
    connect();
    const states = async () =>
      (
        await platform
          .resource<KubeObject>({ group: '', version: 'v1', resource: 'configmaps', namespaced: true })
          .in('capstan-products')
          .get('products')
      )['data'];
    const others = { fleet: 'Installed', compute: 'Installed', apps: 'Installed' };
    await vi.waitFor(
      async () => expect(await states()).toMatchObject({ ...others, operator: expect.stringMatching(/^Failed: .*not today/) }),
      patience,
    );
    expect(up.output).toMatch(/platform-controllers \| .*product operator is not installed: .*not today/);

    const quotas = platform.resource<KubeObject>(fleetQuotaKind);
    // A field that the release did not have.
    const limits = { gpus: 8, storage: '1Ti' };
    const widened = async () => quotas.patch('shop', { type: 'merge', patch: { spec: { limits } } });
    await vi.waitFor(async () => expect(await widened()).toMatchObject({ spec: { workspace: 'root:main:shop', limits } }), patience);
    expect((await scripts().get('greet'))['spec']).toEqual({ content: '#!/bin/sh\necho back\n' });
    expect(await storages().patch('data', { type: 'merge', patch: { spec: { size: '2Gi' } } })).toMatchObject({ spec: { size: '2Gi' } });

    await platform.resource(policies('validatingadmissionpolicybindings')).delete('frozen');
    await vi.waitFor(async () => expect(await states()).toEqual({ ...others, operator: 'Installed' }), patience);
    up.signal('SIGINT');
    expect(await up.exited).toEqual({ code: 0, signal: null });
  });
});

/** Keeps the product `operator` from being installed. */
async function refuseRole(platform: Client): Promise<void> {
  const metadata = { name: 'frozen' };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const rule = { apiGroups: ['rbac.authorization.k8s.io'], apiVersions: ['*'], operations: ['CREATE'], resources: ['clusterroles'] };
  await platform.resource(policies('validatingadmissionpolicies')).create({
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "object.metadata.name != 'capstan:product:operator'", message: 'not today' }],
    },
  });
  await platform.resource(policies('validatingadmissionpolicybindings')).create({
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: 'frozen', validationActions: ['Deny'] },
  });
}
