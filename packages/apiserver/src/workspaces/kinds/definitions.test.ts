import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/harness.ts';
import { exportedByRoot, kcpDefinitions, rootResourceSchemas, systemKinds } from './definitions.ts';

describe("kcp's kinds", () => {
  test('are complete', () => {
    expect(kcpDefinitions().map(({ metadata }) => metadata.name)).toEqual([
      'apibindings.apis.kcp.io',
      'apiconversions.apis.kcp.io',
      'apiexportendpointslices.apis.kcp.io',
      'apiexports.apis.kcp.io',
      'apiresourceschemas.apis.kcp.io',
      'cachedresourceendpointslices.cache.kcp.io',
      'cachedresources.cache.kcp.io',
      'logicalclusters.core.kcp.io',
      'shards.core.kcp.io',
      'workspaceauthenticationconfigurations.tenancy.kcp.io',
      'workspaces.tenancy.kcp.io',
      'workspacetypes.tenancy.kcp.io',
      'partitions.topology.kcp.io',
      'partitionsets.topology.kcp.io',
    ]);
  });

  test('are either in every workspace or exported by the root workspace', () => {
    const exported = exportedByRoot().flatMap(({ resources }) => resources.map(({ group, name }) => `${name}.${group}`));
    expect(new Set([...systemKinds, ...exported])).toEqual(new Set(kcpDefinitions().map(({ metadata }) => metadata.name)));
    expect(exported.filter((name) => systemKinds.has(name))).toEqual([]);
  });

  test('have no descriptions', () => {
    expect(JSON.stringify(kcpDefinitions())).not.toMatch(/"description":"/);
  });

  test('are exported with schemas named after the kind', () => {
    const schemas = rootResourceSchemas().map(({ metadata, spec }) => ({ name: metadata.name, spec }));
    expect(schemas).toHaveLength(6);
    for (const { name, spec } of schemas) {
      const { group, names } = spec as { group: string; names: { plural: string } };
      expect(name!.slice(name!.indexOf('.') + 1)).toBe(`${names.plural}.${group}`);
      expect(spec).toMatchObject({ versions: [{ name: 'v1alpha1', schema: { type: 'object' } }] });
    }
  });
});

describe('every definition', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each(kcpDefinitions().map((definition) => [definition.metadata.name!, definition] as const))(
    '%s would be accepted from a user, in a group that is not reserved',
    async (name, { apiVersion, kind, spec, status }) => {
      const body = { apiVersion, kind, metadata: { name: name.replace('kcp.io', 'example.com') }, spec };
      const group = (spec as { group: string }).group.replace('kcp.io', 'example.com');
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const created = await server.call(path, { method: 'POST', body: JSON.stringify({ ...body, spec: { ...(spec as object), group } }) });
      expect(created.json().message).toBeUndefined();
      const { acceptedNames, storedVersions } = status as { acceptedNames: object; storedVersions: string[] };
      expect(created.json()).toMatchObject({ spec: { names: acceptedNames }, status: { storedVersions } });
    },
  );
});
