import { expect, test } from 'vitest';
import type { AdapterMember } from '../../adapter/contract.ts';
import { operationsOf } from './catalog.ts';
import { distributionOf } from './distribution.ts';
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
    ...['preflight', 'keep', ...fetched, 'install', 'file.write', 'endpoint', 'service.ensure', 'form', 'wait'],
    ...['join-token', 'join-token', 'access'],
  ]);
  expect(order('lab-agent-2')).toEqual(['preflight', ...fetched, 'install', 'file.write', 'endpoint', 'service.ensure', 'form', 'wait']);
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
    { kind: 'InitConfiguration', nodeRegistration: { taints: [] }, bootstrapTokens: [{ ttl: '1m0s' }], timeouts: { etcdAPICall: '6m0s' } },
    { kind: 'ClusterConfiguration', kubernetesVersion: 'v1.34.1', networking: { podSubnet: '10.42.0.0/16' } },
    { kind: 'KubeProxyConfiguration', conntrack: { maxPerCore: 0 } },
  ]);
});

test('further servers join one at a time, with certificates that the first one shares', () => {
  const members = [memberOf('server', 1), memberOf('server', 2), memberOf('server', 3)];
  const { steps, secrets } = planOf(requestOf('deploy', { instance, members }));
  const stageOf = (id: string): number => steps.find((step) => step.id === id)!.stage;
  const order = ['wait-lab-server-1', 'share-certificates-gpu-2-lab-server-1', 'form-lab-server-2', 'wait-lab-server-2'];
  const stages = [...order, 'share-certificates-gpu-3-lab-server-1', 'form-lab-server-3', 'wait-lab-server-3'].map(stageOf);
  expect(stages).toEqual([...new Set(stages)].sort((one, other) => one - other));
  const written = steps.flatMap((step) => (step.type === 'file.write' && step.member === 'lab-server-2' ? [step.task.content] : []));
  expect(written[0]).toContain('"kind": "JoinConfiguration"');
  expect(written[0]).toContain('"certificateKey": "${secret:certificate-key}"');
  expect(secrets?.map(({ name }) => name)).toContain('certificate-key');
});

test('members know all servers by one name, their own address first, and learn of others', () => {
  const servers = [memberOf('server', 1, joined), memberOf('server', 2, joined)];
  const addresses = (type: string, members: AdapterMember[]) =>
    planOf(requestOf(type, { instance, members })).steps.flatMap((step) =>
      step.type === 'process.run' && step.task.script === 'kubernetes-endpoint' ? [[step.member, ...step.task.arguments!.slice(3)]] : [],
    );
  expect(addresses('change', [...servers, memberOf('server', 3), memberOf('agent', 4, joined)])).toEqual([
    ['lab-server-3', '192.0.2.13', '192.0.2.11', '192.0.2.12'],
    ['lab-server-1', '192.0.2.11', '192.0.2.12', '192.0.2.13'],
    ['lab-server-2', '192.0.2.12', '192.0.2.11', '192.0.2.13'],
    ['lab-agent-4', '192.0.2.11', '192.0.2.12', '192.0.2.13'],
  ]);
});

test('a server that leaves removes its own member of etcd; the last ones do not', () => {
  const members = [1, 2, 3].map((index) => memberOf('server', index, { ...joined, isWanted: index < 3 }));
  const { steps } = planOf(requestOf('change', { instance, members }));
  expect(steps.find(({ id }) => id.startsWith('forget-etcd'))).toMatchObject({ member: 'lab-server-3' });
  const extent = (type: string) =>
    planOf(requestOf(type, { instance, members })).steps.flatMap((step) =>
      step.type === 'process.run' && step.task.script === 'kubernetes-uninstall' ? [step.task.arguments?.at(3)] : [],
    );
  expect(extent('change')).toEqual(['alone']);
  expect(extent('decommission')).toEqual(['whole', 'whole', 'whole']);
});

test('has no snapshots', () => {
  expect(operationsOf(kubeadm).map(({ name }) => name)).toEqual(['drain', 'uncordon', 'rotate-certificates']);
  const members = [memberOf('server', 1, joined)];
  for (const type of ['snapshot', 'restore'])
    expect(() => planOf(requestOf(type, { instance, members }))).toThrow(expect.objectContaining({ code: 'OperationNotSupported' }));
});
