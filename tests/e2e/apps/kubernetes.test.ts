import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

describeUnless(await clusterProblem(), 'a self-managed cluster of k3s', () => {
  let lab: KubernetesHosts;
  beforeAll(async () => {
    lab = await KubernetesHosts.start('k3s', 2);
  });
  afterAll(() => lab?.[Symbol.asyncDispose]());

  test('is not deployed on a node that something else uses', async () => {
    const preflight = (...ports: string[]) => lab.script('gpu-2', 'preflight', 'agent', 'id', ...ports);
    const host = lab.host('gpu-2');
    host.write('/var/lib/rancher/rke2/agent/file', '');
    expect(await preflight()).toMatchObject({ code: 20, output: expect.stringContaining('/var/lib/rancher/rke2/agent exists') });
    await host.run(['rm', '-r', '/var/lib/rancher']);
    host.write('/etc/rancher/node/password', 'of an earlier cluster');
    expect(await preflight()).toMatchObject({ code: 23, output: expect.stringContaining('/etc/rancher/node/password') });
    await host.run(['rm', '-r', '/etc/rancher']);
    await using server = host.start('server', [
      process.execPath,
      '-e',
      'require("net").createServer().listen(10250, () => console.log("up"))',
    ]);
    await server.waitUntil('it listens', () => server.output.includes('up'));
    expect(await preflight('10251', '10250')).toMatchObject({ code: 21, output: expect.stringContaining('the port 10250') });
    expect(await preflight('10251')).toEqual({ code: 0, output: 'agent\n' });
    await host.run(['rm', '-r', '/etc/rancher', '/var/lib/rancher', '/var/lib/capstan-apps']);
  });

  test('is deployed with a server and an agent, and runs a pod', async () => {
    lab.add('server', 'gpu-1');
    lab.add('agent', 'gpu-2');
    await lab.runner.do('deploy');
    expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    await lab.runPod('web');
    expect(await lab.runner.observe()).toMatchObject({ health: 'healthy', certificatesExpireAt: expect.any(String) });
  });

  test('keeps the token of servers off the agents, and gives the groups of the platform their roles', async () => {
    expect(lab.host('gpu-2').read('/etc/rancher/k3s/config.yaml')).not.toContain(lab.runner.secrets['token']);
    const can = (group: string, ...args: string[]) => lab.kubectl('auth', 'can-i', ...args, '--as=ann', `--as-group=${group}`);
    expect(await can('capstan:admins', 'delete', 'nodes')).toBe('yes');
    expect(await can('capstan:viewers', 'list', 'pods')).toBe('yes');
    await expect(can('capstan:viewers', 'delete', 'pods')).rejects.toThrow();
  });

  test('is decommissioned without residues, which are found while it runs', async () => {
    const { output } = await lab.script('gpu-2', 'residue');
    for (const subject of ['process \\d+', 'nft ip kube-proxy', '/var/lib/kubelet', '/etc/rancher/node'])
      expect(output).toMatch(new RegExp(`^residue: ${subject}: `, 'm'));
    await lab.runner.do('decommission');
    expect(lab.runner.residues).toEqual([]);
    for (const node of ['gpu-1', 'gpu-2']) expect(await lab.script(node, 'residue')).toEqual({ code: 0, output: '' });
  });
});
