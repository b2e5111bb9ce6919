import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { type ConfigMap, configMap, deployment } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

await describeServers('kubectl apply', ['kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);

  beforeAll(() => kubectl.makeNamespace());
  afterAll(() => kubectl.dropNamespace());

  test('apply creates, then changes, then finds nothing to do', async () => {
    expect(await kubectl.apply(configMap('plain', { a: '1', b: '1' }))).toBe('configmap/plain created');
    expect(await kubectl.apply(configMap('plain', { a: '2' }))).toBe('configmap/plain configured');
    expect(await kubectl.apply(configMap('plain', { a: '2' }))).toBe('configmap/plain unchanged');
    expect((await kubectl.json<ConfigMap>('get', 'cm', 'plain')).data).toEqual({ a: '2' });
  });

  test('apply merges the lists of a deployment by key', async () => {
    const web = deployment('merged', 1);
    await kubectl.apply(web);
    await kubectl.run('set', 'env', 'deployment/merged', 'ADDED=yes');
    await kubectl.apply({ ...web, spec: { ...web.spec, replicas: 2 } });
    expect(
      await kubectl.run('get', 'deployment', 'merged', '-o', 'jsonpath={.spec.replicas} {.spec.template.spec.containers[0].env[0].name}'),
    ).toBe('2 ADDED');
  });

  test('apply --prune deletes objects that are no longer in the files', async () => {
    const labels = { set: 'pruned' };
    await kubectl.apply({ apiVersion: 'v1', kind: 'List', items: [configMap('keep', {}, { labels }), configMap('drop', {}, { labels })] });
    const out = await kubectl.apply(
      configMap('keep', {}, { labels }),
      '--prune',
      '-l',
      'set=pruned',
      '--prune-allowlist=core/v1/ConfigMap',
    );
    expect(out).toContain('configmap/drop pruned');
    expect(await kubectl.run('get', 'cm', '-l', 'set=pruned', '-o', 'name')).toBe('configmap/keep');
  });

  test('server-side apply owns its fields, and others conflict until forced', async () => {
    expect(await kubectl.apply(configMap('owned', { a: '1' }), '--server-side', '--field-manager=one')).toBe(
      'configmap/owned serverside-applied',
    );
    const conflict = await kubectl.refusedWith(
      { input: JSON.stringify(configMap('owned', { a: '2' })) },
      'apply',
      '-f',
      '-',
      '--server-side',
      '--field-manager=two',
    );
    expect(conflict).toContain('Apply failed with 1 conflict: conflict with "one": .data.a');
    await kubectl.apply(configMap('owned', { a: '2' }), '--server-side', '--field-manager=two', '--force-conflicts');
    const owned = await kubectl.json<ConfigMap>('get', 'cm', 'owned', '--show-managed-fields');
    expect(owned.data).toEqual({ a: '2' });
    expect(owned.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toContain('two Apply');
  });

  test('migrates an object from client-side to server-side apply', async () => {
    await kubectl.apply(configMap('moved', { a: '1', b: '1' }));
    expect(await kubectl.apply(configMap('moved', { a: '1' }), '--server-side')).toBe('configmap/moved serverside-applied');
    expect((await kubectl.json<ConfigMap>('get', 'cm', 'moved')).data).toEqual({ a: '1' });
  });

  test('diff shows what apply would change, and changes nothing', async () => {
    await kubectl.apply(configMap('diffed', { a: '1' }));
    const same = await kubectl.call(['diff', '-f', '-'], { input: JSON.stringify(configMap('diffed', { a: '1' })) });
    expect([same.code, same.stdout]).toEqual([0, '']);
    const other = await kubectl.call(['diff', '-f', '-'], { input: JSON.stringify(configMap('diffed', { a: '2' })) });
    expect(other.code).toBe(1);
    expect(other.stdout).toMatch(/-\s+a: "1"\n\+\s+a: "2"/);
    expect((await kubectl.json<ConfigMap>('get', 'cm', 'diffed')).data).toEqual({ a: '1' });
  });

  test('serves a custom resource as soon as its definition is established', async () => {
    const group = `${kubectl.namespace}.example.com`;
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          required: ['size'],
          properties: { size: { type: 'integer', minimum: 1 }, color: { type: 'string', default: 'red' } },
        },
        status: { type: 'object', properties: { phase: { type: 'string' } } },
      },
    };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `gadgets.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', shortNames: ['gd'] },
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
            additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
          },
        ],
      },
    };
    await kubectl.apply(definition);
    await kubectl.run('wait', '--for=condition=Established', `crd/gadgets.${group}`, '--timeout=30s');
    const gadget = (size: number): unknown => ({ apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name: 'one' }, spec: { size } });
    expect(await kubectl.apply(gadget(3))).toBe(`gadget.${group}/one created`);
    expect((await kubectl.run('get', `gadgets.${group}`)).split('\n').map((line) => line.split(/\s{2,}/).slice(0, 2))).toEqual([
      ['NAME', 'SIZE'],
      ['one', '3'],
    ]);
    expect(await kubectl.run('get', `gadgets.${group}`, 'one', '-o', 'jsonpath={.spec.color}')).toBe('red');
    expect(await kubectl.refusedWith({ input: JSON.stringify(gadget(0)) }, 'apply', '-f', '-')).toContain(
      'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
    );
    expect(await kubectl.run('explain', `gadgets.${group}.spec.size`)).toMatch(/FIELD: size <integer>/);
    expect(await kubectl.run('delete', 'crd', `gadgets.${group}`)).toContain('deleted');
    expect(await kubectl.refused('get', `gadgets.${group}`)).toContain("the server doesn't have a resource type");
  });
});
