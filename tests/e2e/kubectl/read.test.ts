import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { configMap, deployment, type KubernetesObject } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

interface List {
  readonly items: readonly KubernetesObject[];
}

await describeServers('kubectl reads', ['kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);

  beforeAll(async () => {
    await kubectl.makeNamespace();
    const items = [
      configMap('alpha', { color: 'red' }, { labels: { tier: 'gold' } }),
      configMap('beta', { color: 'green' }, { labels: { tier: 'silver' } }),
      deployment('web', 2),
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden' }, stringData: { password: 'p' } },
    ];
    await kubectl.create({ apiVersion: 'v1', kind: 'List', items });
  });
  afterAll(() => kubectl.dropNamespace());

  test("get prints the server's table", async () => {
    const lines = (await kubectl.run('get', 'configmaps', '-l', 'tier')).split('\n');
    expect(lines[0]).toMatch(/^NAME\s+DATA\s+AGE$/);
    expect(lines.slice(1).map((line) => line.split(/\s+/).slice(0, 2))).toEqual([
      ['alpha', '1'],
      ['beta', '1'],
    ]);
  });

  test('get accepts short names, several kinds and names', async () => {
    expect(await kubectl.run('get', 'cm/alpha', 'deploy/web', '-o', 'name')).toBe('configmap/alpha\ndeployment.apps/web');
    expect(await kubectl.run('get', 'cm,secrets', '-l', 'tier=gold', '-o', 'name')).toBe('configmap/alpha');
  });

  test('get -o wide shows the low-priority columns', async () => {
    const [head, row] = (await kubectl.run('get', 'deployment', 'web', '-o', 'wide')).split('\n');
    expect(head).toMatch(/^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR$/);
    expect(row).toMatch(/^web\s+0\/2\s+0\s+0\s+\S+\s+main\s+example\.com\/app:1\s+app=web$/);
  });

  test('get supports -o yaml, jsonpath, custom-columns and go-template', async () => {
    expect(await kubectl.run('get', 'cm', 'alpha', '-o', 'yaml')).toContain('data:\n  color: red\nkind: ConfigMap');
    expect(await kubectl.run('get', 'cm', 'alpha', '-o', 'jsonpath={.data.color}')).toBe('red');
    expect(await kubectl.run('get', 'cm', '-l', 'tier', '-o', 'custom-columns=N:.metadata.name,C:.data.color', '--no-headers')).toBe(
      'alpha   red\nbeta    green',
    );
    expect(await kubectl.run('get', 'cm', 'beta', '-o', 'go-template={{.data.color}}')).toBe('green');
  });

  test('selects by labels and fields', async () => {
    expect(await kubectl.run('get', 'cm', '-l', 'tier in (gold),tier!=silver', '-o', 'name')).toBe('configmap/alpha');
    expect(await kubectl.run('get', 'cm', '--field-selector', 'metadata.name=beta', '-o', 'name')).toBe('configmap/beta');
    expect(await kubectl.run('get', 'secrets', '--field-selector', 'type=Opaque', '-o', 'name')).toBe('secret/hidden');
    expect(await kubectl.refused('get', 'cm', '--field-selector', 'data.color=red')).toContain(
      '"data.color" is not a known field selector: only "metadata.name", "metadata.namespace"',
    );
  });

  test('sorts and watches across pages of one', async () => {
    expect(await kubectl.run('get', 'cm', '-l', 'tier', '--chunk-size=1', '--sort-by=.data.color', '-o', 'name')).toBe(
      'configmap/beta\nconfigmap/alpha',
    );
  });

  test('get -A finds objects of all namespaces', async () => {
    const list = await kubectl.json<List>('get', 'deployments', '-A');
    expect(list.items.filter((item) => item.metadata.namespace === kubectl.namespace).map((item) => item.metadata.name)).toEqual(['web']);
  });

  test('describe shows an object and its events', async () => {
    expect(await kubectl.run('describe', 'cm', 'alpha')).toMatch(
      /Name:\s+alpha\nNamespace:\s+\S+\nLabels:\s+tier=gold\n[\s\S]*color:\n----\nred\n[\s\S]*Events:\s+<none>/,
    );
    expect(await kubectl.run('describe', 'deployment', 'web')).toMatch(/Replicas:\s+2 desired/);
    expect(await kubectl.run('describe', 'secret', 'hidden')).toMatch(/password:\s+1 bytes/);
    expect(await kubectl.run('describe', 'namespace', kubectl.namespace)).toMatch(/Status:\s+Active/);
  });

  test("explain knows every new kind immediately, despite kubectl's cache", async () => {
    const cache = ['--cache-dir', target().home.join('explain-cache')];
    const group = `${kubectl.namespace}.example.com`;
    await kubectl.run('explain', 'configmap', ...cache);
    for (let index = 0; index < 8; index++) {
      const plural = `kept${index}s`;
      await kubectl.create(definition(group, plural));
      await kubectl.run('wait', '--for=condition=Established', `crd/${plural}.${group}`, ...cache);
      expect(await kubectl.run('explain', `${plural}.${group}.spec.color`, ...cache)).toMatch(/FIELD: color <string>/);
    }
    const names = Array.from({ length: 8 }, (_, index) => `kept${index}s.${group}`);
    await kubectl.run('delete', 'crd', ...names);
  });

  test('explain knows the fields of built-in kinds', async () => {
    expect(await kubectl.run('explain', 'deployment.spec.replicas')).toMatch(/FIELD: replicas <integer>/);
    expect(await kubectl.run('explain', 'configmap', '--recursive')).toMatch(/binaryData\s+<map\[string\]string>/);
    expect(await kubectl.refused('explain', 'configmap.nope')).toContain('field "nope" does not exist');
  });

  test('api-resources and api-versions list what is served', async () => {
    const resources = await kubectl.run('api-resources', '--no-headers');
    for (const line of [
      /^configmaps\s+cm\s+v1\s+true\s+ConfigMap$/m,
      /^namespaces\s+ns\s+v1\s+false\s+Namespace$/m,
      /^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m,
    ]) {
      expect(resources).toMatch(line);
    }
    expect(await kubectl.run('api-resources', '--api-group=rbac.authorization.k8s.io', '-o', 'name', '--sort-by=name')).toBe(
      ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'].map((name) => `${name}.rbac.authorization.k8s.io`).join('\n'),
    );
    expect((await kubectl.run('api-versions')).split('\n')).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'rbac.authorization.k8s.io/v1', 'coordination.k8s.io/v1']),
    );
  });

  test('answers version, cluster-info and raw paths', async () => {
    expect(await kubectl.run('version')).toMatch(/Server Version: v1\.34\./);
    expect(await kubectl.run('cluster-info')).toContain('Kubernetes control plane');
    expect(await kubectl.run('get', '--raw', '/readyz')).toBe('ok');
    expect(await kubectl.run('get', '--raw', '/livez?verbose')).toContain('livez check passed');
  });

  test('names missing objects and kinds', async () => {
    expect(await kubectl.refused('get', 'cm', 'gamma')).toBe('Error from server (NotFound): configmaps "gamma" not found');
    expect(await kubectl.refused('get', 'gizmos')).toBe(`error: the server doesn't have a resource type "gizmos"`);
    expect((await kubectl.call(['get', 'leases'])).stderr).toContain('No resources found in');
  });
});

function definition(group: string, plural: string): object {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1, -1);
  const spec = { type: 'object', properties: { color: { type: 'string', description: 'The color.' } } };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: plural.slice(0, -1), kind, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}
