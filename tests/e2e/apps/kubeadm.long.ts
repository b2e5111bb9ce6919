import { kubeadmProblem, sampleResource } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

const patience = { timeout: 90_000, interval: 1_000 };

/** Checks of kubeadm that fail here: the kernel may not show its settings, and one check builds URLs that Go 1.26 no longer accepts. */
const ignored = ['SystemVerification', 'HTTPProxyCIDR'];

describeUnless((await clusterProblem({ builds: true })) ?? (await kubeadmProblem()), 'a self-managed cluster of kubeadm', () => {
  let lab: KubernetesHosts;
  beforeAll(async () => {
    lab = await KubernetesHosts.start('kubeadm', 2, { parameters: { 'ignore-preflight-errors': ignored } });
    lab.add('server', 'gpu-1');
    lab.add('agent', 'gpu-2');
    await lab.runner.do('deploy');
  }, 600_000);
  afterAll(() => lab?.[Symbol.asyncDispose]());

  test('has a server and an agent that are ready, and runs a pod', async () => {
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    await lab.runPod('web');
    expect(await lab.runner.observe()).toMatchObject({ health: 'healthy', certificatesExpireAt: expect.any(String) });
  });

  test('pods get the devices that they ask for, and no more than the nodes have', async () => {
    const offered = ['get', 'nodes', '-o', `jsonpath={.items[*].status.allocatable.${sampleResource.replaceAll('.', '\\.')}}`];
    await vi.waitFor(async () => expect(await lab.kubectl(...offered)).toBe('2 2'), patience);
    const ask = (name: string, count: number) => lab.runPod(name, { resources: { limits: { [sampleResource]: count } } });
    await ask('one', 1);
    expect(await lab.kubectl('exec', 'one', '--', 'ls', '/tmp')).toMatch(/^Dev-[12]$/);
    await expect(ask('three', 3)).rejects.toThrow('timed out');
    expect(await lab.kubectl('get', 'events', '--field-selector', 'involvedObject.name=three')).toContain(`Insufficient ${sampleResource}`);
    await lab.kubectl('delete', 'pod', 'one', 'three', '--now');
  });

  test('an agent is removed without residues, and joins again under the same name', async () => {
    lab.drop('gpu-2');
    await lab.runner.do('change');
    expect(await lab.readyNodes()).toEqual(['gpu-1']);
    expect(lab.runner.residues).toEqual([]);
    lab.settle('gpu-2');
    lab.add('agent', 'gpu-2');
    await lab.runner.do('change');
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
  });

  test('certificates are renewed', async () => {
    const serial = async (): Promise<string> =>
      (await lab.host('gpu-1').run(['openssl', 'x509', '-noout', '-serial', '-in', '/etc/kubernetes/pki/apiserver.crt'])).stdout;
    const before = await serial();
    await lab.runner.do('rotate-certificates');
    expect(await serial()).not.toBe(before);
    await vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']), patience);
  });

  test('everything is removed without residues', async () => {
    await lab.runner.do('decommission');
    expect(lab.runner.residues).toEqual([]);
    for (const host of lab.hosts.values()) {
      expect((await host.run(['ls', '/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/var/lib/capstan-apps'])).stdout).toBe('');
      expect((await host.run(['ctr', '--namespace', 'k8s.io', 'images', 'list', '--quiet'])).stdout).toBe('');
    }
  });
});
