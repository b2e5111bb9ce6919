import { afterAll, beforeAll, expect, test } from 'vitest';
import { Kubectl } from '../support/kubectl.ts';
import { configMap, type KubernetesObject } from '../support/objects.ts';
import { describeServers } from '../support/target.ts';

interface Quota extends KubernetesObject {
  readonly status: { readonly used: Record<string, string> };
}

await describeServers('quotas', ['kubectl'], (target, paths) => {
  const kubectl = new Kubectl(paths.kubectl, target);
  const input = (object: unknown) => ({ input: JSON.stringify(object) });

  /** Writes the status that the quota controller would write for an empty namespace. */
  const limit = async (name: string, hard: Record<string, string>, spec: object = {}): Promise<void> => {
    await kubectl.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard, ...spec } });
    const used = Object.fromEntries(Object.keys(hard).map((key) => [key, '0']));
    await kubectl.run('patch', 'quota', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status: { hard, used } }));
  };
  const usedOf = async (name: string): Promise<Record<string, string>> => (await kubectl.json<Quota>('get', 'quota', name)).status.used;
  const pod = (name: string, containers: readonly object[], spec: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: containers.map((one) => ({ image: 'example.com/app:1', ...one })), ...spec },
  });

  beforeAll(async () => {
    await kubectl.makeNamespace();
    // Pods need a service account, which no controller creates here.
    await kubectl.call(['create', 'serviceaccount', 'default']);
  });
  afterAll(() => kubectl.dropNamespace());

  test('counts objects in both spellings, and rejects one too many', async () => {
    await limit('counts', { secrets: '2', 'count/secrets': '5', 'count/deployments.apps': '0' });
    await kubectl.run('create', 'secret', 'generic', 'one');
    await kubectl.run('create', 'secret', 'generic', 'two');
    const refusal = 'exceeded quota: counts, requested: secrets=1, used: secrets=2, limited: secrets=2';
    expect(await kubectl.refused('create', 'secret', 'generic', 'three')).toBe(
      `error: failed to create secret secrets "three" is forbidden: ${refusal}`,
    );
    expect(await kubectl.refused('create', 'secret', 'generic', 'three', '--dry-run=server')).toContain(refusal);
    expect(await kubectl.refused('create', 'deployment', 'd', '--image=x')).toBe(
      'error: failed to create deployment: deployments.apps "d" is forbidden: exceeded quota: counts, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0',
    );
    expect(await usedOf('counts')).toEqual({ secrets: '2', 'count/secrets': '2', 'count/deployments.apps': '0' });
    await kubectl.run('delete', 'quota', 'counts');
  });

  test('charges a repeated apply once', async () => {
    await limit('once', { configmaps: '5' });
    await kubectl.apply(configMap('applied', { a: '1' }));
    await kubectl.apply(configMap('applied', { a: '2' }));
    await kubectl.apply(configMap('applied', { a: '3' }), '--server-side', '--force-conflicts');
    expect(await usedOf('once')).toEqual({ configmaps: '1' });
    await kubectl.run('delete', 'quota', 'once');
  });

  test('requires pods to specify limited resources, and to fit', async () => {
    await limit('compute', { 'limits.cpu': '2', memory: '1Gi', 'requests.cpu': '1', pods: '2', 'requests.example.com/gpu': '2' });
    const silent = pod('p', [{ name: 'z' }, { name: 'a', resources: { limits: { cpu: '1' } } }]);
    expect(await kubectl.refusedWith(input(silent), 'create', '-f', '-')).toBe(
      'Error from server (Forbidden): error when creating "STDIN": pods "p" is forbidden: failed quota: compute: must specify limits.cpu for: z; memory for: a,z; requests.cpu for: z',
    );
    const large = pod('p', [{ name: 'c', resources: { limits: { cpu: '3', memory: '2Gi', 'example.com/gpu': '3' } } }]);
    expect(await kubectl.refusedWith(input(large), 'create', '-f', '-')).toContain(
      'exceeded quota: compute, requested: limits.cpu=3,memory=2Gi,requests.cpu=3,requests.example.com/gpu=3, used: limits.cpu=0,memory=0,requests.cpu=0,requests.example.com/gpu=0, limited: limits.cpu=2,memory=1Gi,requests.cpu=1,requests.example.com/gpu=2',
    );
    await kubectl.create(pod('p', [{ name: 'c', resources: { requests: { cpu: '250m' }, limits: { cpu: '1500m', memory: '1536Ki' } } }]));
    expect(await usedOf('compute')).toEqual({
      'limits.cpu': '1500m',
      memory: '1536Ki',
      'requests.cpu': '250m',
      pods: '1',
      'requests.example.com/gpu': '0',
    });
    await kubectl.run('delete', 'quota', 'compute');
  });

  test('counts pods by scope', async () => {
    await limit('best-effort', { pods: '0' }, { scopes: ['BestEffort'] });
    await limit('ending', { pods: '0' }, { scopes: ['Terminating'] });
    const asks = [{ name: 'c', resources: { requests: { cpu: '1m' } } }];
    expect(await kubectl.refusedWith(input(pod('idle', [{ name: 'c' }])), 'create', '-f', '-')).toContain(
      'exceeded quota: best-effort, requested: pods=1, used: pods=0, limited: pods=0',
    );
    expect(await kubectl.refusedWith(input(pod('brief', asks, { activeDeadlineSeconds: 5 })), 'create', '-f', '-')).toContain(
      'exceeded quota: ending, requested: pods=1, used: pods=0, limited: pods=0',
    );
    await kubectl.create(pod('fits', asks));
    await kubectl.run('delete', 'quota', 'best-effort', 'ending');
  });

  test('charges a changed service for the difference', async () => {
    await limit('services', { services: '3', 'services.nodeports': '2' });
    await kubectl.run('create', 'service', 'clusterip', 's', '--tcp=80', '--tcp=81');
    await kubectl.run('patch', 'service', 's', '-p', '{"spec":{"type":"NodePort"}}');
    expect(await usedOf('services')).toEqual({ services: '1', 'services.nodeports': '2' });
    expect(await kubectl.refused('create', 'service', 'nodeport', 't', '--tcp=80')).toBe(
      'error: failed to create NodePort service: services "t" is forbidden: exceeded quota: services, requested: services.nodeports=1, used: services.nodeports=2, limited: services.nodeports=2',
    );
    await kubectl.run('delete', 'quota', 'services');
  });

  test('rejects resources of a quota that are not counted yet', async () => {
    await kubectl.run('create', 'quota', 'half', '--hard=configmaps=5');
    const status = JSON.stringify({ status: { hard: { configmaps: '5' } } });
    await kubectl.run('patch', 'quota', 'half', '--subresource=status', '--type=merge', '-p', status);
    expect(await kubectl.refused('create', 'configmap', 'x')).toBe(
      'error: failed to create configmap: configmaps "x" is forbidden: status unknown for quota: half, resources: configmaps',
    );
    await kubectl.run('delete', 'quota', 'half');
  });
});
