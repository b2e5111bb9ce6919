import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

const program = process.env['PROGRAM'] === 'k3s' ? 'k3s' : 'rke2';
const patience = { timeout: 60_000, interval: 1_000 };
const everyNode = ['gpu-1', 'gpu-2', 'gpu-3'];

describeUnless(await clusterProblem({ builds: true }), `operations of a self-managed cluster of ${program}`, () => {
  let lab: KubernetesHosts;
  beforeAll(async () => {
    lab = await KubernetesHosts.start(program, 3);
    lab.add('server', 'gpu-1');
    for (const node of ['gpu-2', 'gpu-3']) lab.add('agent', node);
    await lab.runner.do('deploy');
  }, 300_000);
  afterAll(() => lab?.[Symbol.asyncDispose]());

  test('two agents join, and a pod runs', async () => {
    expect(await lab.readyNodes()).toEqual(everyNode);
    await lab.runPod('web');
    expect(await lab.runner.observe()).toMatchObject({ health: 'healthy', certificatesExpireAt: expect.any(String) });
  });

  test('an agent is removed without residues, and joins again under the same name', async () => {
    lab.drop('gpu-3');
    await lab.runner.do('change');
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    expect(lab.runner.residues).toEqual([]);
    lab.add('agent', 'gpu-3');
    await lab.runner.do('change');
    expect(await lab.readyNodes()).toEqual(everyNode);
  });

  test('a node is drained and takes pods again, but cordons of others stay', async () => {
    await lab.runner.do('drain', { member: 'lab-gpu-2' });
    const { members } = await lab.runner.observe();
    expect(members['lab-gpu-2']).toMatchObject({ health: 'healthy', message: expect.stringContaining('drained') });
    await lab.runner.do('uncordon', { member: 'lab-gpu-2' });
    await lab.kubectl('cordon', 'gpu-2');
    await expect(lab.runner.do('uncordon', { member: 'lab-gpu-2' })).rejects.toThrow('CordonedByOthers');
    await lab.kubectl('uncordon', 'gpu-2');
  });

  test('a snapshot is restored when no server answers', async () => {
    await lab.kubectl('create', 'configmap', 'before');
    await lab.runner.do('snapshot');
    await lab.kubectl('create', 'configmap', 'after');
    await lab.runner.service('lab-gpu-1')?.kill();
    expect(await lab.runner.observe()).toMatchObject({ health: 'failed', members: { 'lab-gpu-1': { isRepairable: true } } });
    await lab.runner.do('restore');
    const found = await lab.kubectl('get', 'configmaps', '-o', 'name');
    expect(found).toContain('configmap/before');
    expect(found).not.toContain('configmap/after');
    await vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(everyNode), patience);
  });

  test('all members stop with their pods, and start again', async () => {
    await lab.runner.do('stop');
    for (const host of lab.hosts.values()) expect((await host.run(['pgrep', '-f', 'kubelet|containerd-shim'])).stdout).toBe('');
    await lab.runner.do('start');
    await vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(everyNode), patience);
  });

  test('certificates are renewed', async () => {
    const file = `/var/lib/rancher/${program}/server/tls/client-admin.crt`;
    const serial = async (): Promise<string> => (await lab.host('gpu-1').run(['openssl', 'x509', '-noout', '-serial', '-in', file])).stdout;
    const before = await serial();
    await lab.runner.do('rotate-certificates');
    expect(await serial()).not.toBe(before);
    expect(await lab.readyNodes()).toEqual(everyNode);
  });

  test('an agent that the cluster knows by another password is named as such, and repaired', async () => {
    await lab.runner.service('lab-gpu-2')?.kill();
    lab.host('gpu-2').write('/etc/rancher/node/password', 'another\n');
    await expect(lab.runner.do('start')).rejects.toThrow('NodePasswordRejected');
    await lab.runner.do('repair', { member: 'lab-gpu-2' });
    await vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(everyNode), patience);
  });

  test('it is decommissioned without residues', async () => {
    await lab.runner.do('decommission');
    expect(lab.runner.residues).toEqual([]);
    expect(lab.runner.members).toEqual([]);
  });

  test('a removal leaves a node alone that has nothing of the instance', async () => {
    const host = lab.host('gpu-2');
    host.write('/var/lib/kubelet/of-somebody-else', 'kept');
    expect(await lab.script('gpu-2', 'uninstall', 'agent', 'f0a1')).toMatchObject({ code: 0 });
    expect(host.read('/var/lib/kubelet/of-somebody-else')).toBe('kept');
    await host.run(['rm', '-r', '/var/lib/kubelet']);
  });

  test('three servers form a cluster that survives the loss of one, names the loss of a quorum, and lets one leave', async () => {
    for (const node of everyNode) lab.add('server', node);
    await lab.runner.do('deploy');
    expect(await lab.readyNodes()).toEqual(everyNode);
    const url = 'http://127.0.0.1:2379/v3/cluster/member/list';
    const etcd = async (): Promise<string> => (await lab.host('gpu-1').run(['curl', '-s', '-d', '{}', url])).stdout;
    for (const node of everyNode) expect(await etcd()).toContain(node);
    await lab.runner.service('lab-gpu-3')?.kill();
    const withoutOne = await lab.runner.observe();
    expect(withoutOne).toMatchObject({ health: 'degraded', members: { 'lab-gpu-3': { health: 'failed', isRepairable: true } } });
    await lab.kubectl('create', 'configmap', 'without-one');
    await lab.runner.service('lab-gpu-2')?.kill();
    await vi.waitFor(
      async () => expect(await lab.runner.observe()).toMatchObject({ health: 'failed', message: expect.stringContaining('quorum') }),
      patience,
    );
    await lab.runner.do('start');
    await vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(everyNode), patience);
    lab.drop('gpu-3');
    await lab.runner.do('change');
    expect(await etcd()).not.toContain('gpu-3');
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    expect(await lab.runner.observe()).toMatchObject({ health: 'healthy' });
    await lab.runner.do('decommission');
    expect(lab.runner.residues).toEqual([]);
  });
});
