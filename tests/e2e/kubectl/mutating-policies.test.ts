import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { type ConfigMap, configMap, type Deployment, deployment } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

const apiVersion = 'admissionregistration.k8s.io/v1beta1';
const needs = { tools: ['kubectl'] as const, args: ['--runtime-config', `${apiVersion}=true`] };

await describeServers('mutating policies', needs, (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);
  const policy = (name: string, resource: string, spec: object) => ({
    apiVersion,
    kind: 'MutatingAdmissionPolicy',
    metadata: { name },
    spec: {
      reinvocationPolicy: 'IfNeeded',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': kubectl.namespace } },
        resourceRules: [{ apiGroups: ['', 'apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: [resource] }],
      },
      ...spec,
    },
  });
  const binding = (name: string, spec: object = {}) => ({
    apiVersion,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, ...spec },
  });
  const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });

  beforeAll(() => kubectl.makeNamespace());
  afterAll(async () => {
    await kubectl.call(['delete', 'mutatingadmissionpolicies,mutatingadmissionpolicybindings', '--all']);
    await kubectl.dropNamespace();
  });

  test('kubectl finds and explains the kinds', async () => {
    expect(await kubectl.run('api-resources', '--api-group=admissionregistration.k8s.io', '-o', 'name')).toContain(
      'mutatingadmissionpolicies.admissionregistration.k8s.io',
    );
    expect(await kubectl.run('explain', 'mutatingadmissionpolicies.spec.mutations', '--api-version', apiVersion)).toContain('patchType');
  });

  test('merges an apply configuration into applied objects, and apply finds nothing to do the second time', async () => {
    const image = 'Object.spec.template.spec.containers{name: c.name, image: "mirror.example.com/" + c.image}';
    const unchanged = 'c.image.startsWith("mirror.example.com/")';
    const containers = `object.spec.template.spec.containers.filter(c, !${unchanged}).map(c, ${image})`;
    const expression = `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ${containers}}}}}`;
    await kubectl.apply(policy('mirror', 'deployments', { mutations: [apply(expression)] }));
    await kubectl.apply(binding('mirror'));
    await kubectl.apply(deployment('web', 1));
    const image0 = async (): Promise<string> =>
      (await kubectl.json<Deployment>('get', 'deployment', 'web')).spec.template.spec.containers[0]!.image;
    expect(await image0()).toMatch(/^mirror\.example\.com\//);
    expect(await kubectl.run('get', 'mutatingadmissionpolicies', 'mirror', '--no-headers')).toMatch(/^mirror +1 +<unset> /);
  });

  test('applies a JSON patch with parameters to what kubectl creates', async () => {
    await kubectl.create(configMap('settings', { owner: 'team-a' }));
    const expression = `has(object.data) ? [JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("owner"), value: params.data.owner}] : []`;
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const matchConditions = [{ name: 'not-the-settings', expression: 'object.metadata.name.startsWith("made")' }];
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
    await kubectl.apply(policy('owner', 'configmaps', { paramKind, matchConditions, mutations }));
    await kubectl.apply(binding('owner', { paramRef: { name: 'settings', parameterNotFoundAction: 'Deny' } }));
    await kubectl.run('create', 'configmap', 'made', '--from-literal=a=1');
    expect((await kubectl.json<ConfigMap>('get', 'configmap', 'made')).data).toEqual({ a: '1', owner: 'team-a' });
    await kubectl.run('delete', 'configmap', 'settings');
    expect(await kubectl.refused('create', 'configmap', 'made-later', '--from-literal=a=1')).toContain(
      "policy 'owner' with binding 'owner' denied request: failed to configure binding: no params found for policy binding",
    );
  });

  test('reports mistakes when a policy is written', async () => {
    const input = JSON.stringify(policy('wrong', 'pods', { mutations: [apply('Object.spec{}')] }));
    expect(await kubectl.refusedWith({ input }, 'apply', '-f', '-')).toContain(
      'spec.mutations[0].applyConfiguration.expression: Invalid value: "Object.spec{}": must evaluate to Object but got Object.spec',
    );
  });
});
