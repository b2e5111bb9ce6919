import { kubeadmProblem } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

const patience = { timeout: 240_000, interval: 1_000 };
const servers = ['gpu-1', 'gpu-2', 'gpu-3'];
/** See `kubeadm.long.ts`. */
const ignored = ['SystemVerification', 'HTTPProxyCIDR'];

describeUnless((await clusterProblem({ builds: true })) ?? (await kubeadmProblem()), 'a cluster of kubeadm with three servers', () => {
  let lab: KubernetesHosts;
  beforeAll(async () => {
    lab = await KubernetesHosts.start('kubeadm', servers.length, { parameters: { 'ignore-preflight-errors': ignored } });
  }, 600_000);
  afterAll(() => lab?.[Symbol.asyncDispose]());

  const areReady = (...names: string[]): Promise<void> => vi.waitFor(async () => expect(await lab.readyNodes()).toEqual(names), patience);

  test('is formed one server after the other', async () => {
    for (const node of servers) lab.add('server', node);
    await lab.runner.do('deploy');
    expect(await lab.readyNodes()).toEqual(servers);
  }, 900_000);

  test('goes on without its first server, and gets it back', async () => {
    await lab.runner.service('lab-gpu-1')?.kill();
    await lab.script('gpu-1', 'halt');
    // Its own server does not answer, so the name of the cluster leads to another one.
    await vi.waitFor(async () => expect(await lab.kubectl('get', '--raw', '/readyz')).toBe('ok'), patience);
    expect(await lab.runner.observe()).toMatchObject({ health: 'degraded', members: { 'lab-gpu-1': { health: 'failed' } } });
    await lab.runner.do('start');
    await areReady(...servers);
  }, 900_000);

  test('lets a server leave', async () => {
    lab.drop('gpu-3');
    await lab.runner.do('change');
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    expect(lab.runner.residues).toEqual([]);
    expect(lab.host('gpu-2').read('/etc/hosts')).not.toContain(lab.host('gpu-3').address);
  }, 600_000);

  test('is removed without residues', async () => {
    await lab.runner.do('decommission');
    expect(lab.runner.residues).toEqual([]);
  }, 600_000);
});
