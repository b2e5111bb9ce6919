import { expect, test } from 'vitest';
import { operationsOf } from './catalog.ts';
import { distributionOf } from './distribution.ts';
import { membersOf } from './placement.ts';
import { planOf } from './plan.ts';
import { instanceOf, joined, memberOf, requestOf } from './testing.ts';

const kubeadm = distributionOf('kubeadm');
const instance = instanceOf({ app: 'kubeadm', version: 'v1.34.1' });

function documents(type: string, member: string): { readonly kind: string }[] {
  const found = planOf(requestOf(type, { instance })).steps.find((step) => step.type === 'file.write' && step.member === member);
  if (found?.type !== 'file.write') throw new Error(`${member} has no configuration`);
  expect(found.task).toMatchObject({ path: '/var/lib/capstan-apps/kubeadm/config.yaml', mode: '0600' });
  return found.task.content.split('\n---\n').map((text) => JSON.parse(text) as { kind: string });
}

test('a step forms the cluster while the kubelet waits, before the first look at the node', () => {
  const { steps } = planOf(requestOf('deploy', { instance }));
  const order = (member: string) =>
    steps.flatMap((step) => {
      if (step.member !== member || step.when?.is === 'systemd') return [];
      return [step.type === 'process.run' ? step.task.script.replace('kubernetes-', '') : step.type];
    });
  const fetched = ['artifact.fetch', 'artifact.fetch', 'artifact.fetch', 'artifact.fetch', 'artifact.fetch'];
  expect(order('lab-server-1')).toEqual([
    ...['preflight', 'keep', ...fetched, 'install', 'file.write', 'service.ensure', 'form', 'wait'],
    ...['join-token', 'join-token', 'access'],
  ]);
  expect(order('lab-agent-2')).toEqual(['preflight', ...fetched, 'install', 'file.write', 'service.ensure', 'form', 'wait']);
  expect(steps.find(({ id }) => id === 'form-lab-server-1')).toMatchObject({ onFailure: 'intervene' });
  expect(steps.find(({ id }) => id === 'form-lab-agent-2')).toMatchObject({ onFailure: 'degrade', exitCodes: { '44': 'TokenRejected' } });
});

test('agents join by a token of their own, and only if the server has the authority of the cluster', () => {
  expect(documents('deploy', 'lab-agent-2')).toMatchObject([
    {
      kind: 'JoinConfiguration',
      discovery: {
        bootstrapToken: {
          apiServerEndpoint: '192.0.2.11:6443',
          token: '${secret:agent-join-token}',
          caCertHashes: ['${fact:authority}'],
        },
      },
    },
  ]);
  const { steps } = planOf(requestOf('deploy', { instance }));
  expect(steps.filter(({ id }) => id.startsWith('take-')).map(({ keepsSecret, keepsFact }) => keepsSecret ?? keepsFact)).toEqual([
    'agent-join-token',
    'authority',
  ]);
});

test('the server leaves the settings of the kernel alone, takes pods, and has no lasting token', () => {
  expect(documents('deploy', 'lab-server-1')).toMatchObject([
    { kind: 'InitConfiguration', nodeRegistration: { taints: [] }, bootstrapTokens: [{ ttl: '1m0s' }] },
    { kind: 'ClusterConfiguration', kubernetesVersion: 'v1.34.1', networking: { podSubnet: '10.42.0.0/16' } },
    { kind: 'KubeProxyConfiguration', conntrack: { maxPerCore: 0 } },
  ]);
});

test('has one server, and no snapshots', () => {
  const several = instanceOf({ app: 'kubeadm', placement: { server_allocation_ids: ['a1', 'a2', 'a3'] } });
  expect(() => membersOf(several, [])).toThrow(expect.objectContaining({ code: 'TooManyServers' }));
  expect(operationsOf(kubeadm).map(({ name }) => name)).toEqual(['drain', 'uncordon', 'rotate-certificates']);
  const members = [memberOf('server', 1, joined)];
  for (const type of ['snapshot', 'restore'])
    expect(() => planOf(requestOf(type, { instance, members }))).toThrow(expect.objectContaining({ code: 'OperationNotSupported' }));
});
