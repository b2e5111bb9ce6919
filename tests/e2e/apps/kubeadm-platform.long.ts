import { type Host, kubeadmProblem, requireTool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startClusterPlatform } from './cluster-platform.ts';
import { clusterProblem } from './kubernetes-hosts.ts';
import type { AppPlatform } from './platform.ts';

const patience = { timeout: 90_000, interval: 500 };
/** See `kubeadm.long.ts`. */
const ignored = 'ignore-preflight-errors=SystemVerification,HTTPProxyCIDR';

describeUnless(
  (await clusterProblem({ builds: true })) ?? (await kubeadmProblem()),
  'a self-managed cluster of kubeadm, by the commands of a tenant',
  () => {
    const owned = new AsyncDisposableStack();
    let platform: AppPlatform;
    let hosts: ReadonlyMap<string, Host>;

    beforeAll(async () => {
      ({ platform, hosts } = await startClusterPlatform(owned, 'kubeadm', ['gpu-1', 'gpu-2']));
      for (const name of ['a', 'b']) await platform.allocate(name);
    }, 600_000);
    afterAll(() => owned.disposeAsync());

    const kubectl = async (...args: string[]): Promise<string> => {
      const kubeconfig = platform.file('lab.kubeconfig', await platform.run('app', 'kubeconfig', 'lab'));
      const { code, stdout, stderr } = await platform.network.run([await requireTool('kubectl'), '--kubeconfig', kubeconfig, ...args]);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
      return stdout.trim();
    };

    test('is deployed, and is used through the platform', async () => {
      const placement = ['--placement', 'server_allocation_id=a', '--placement', 'agent_allocation_ids=b'];
      const { code, stdout, stderr } = await platform.try(
        'app',
        'deploy',
        'lab',
        '--app',
        'kubeadm',
        ...placement,
        '--set',
        ignored,
        '--wait',
      );
      expect(code, stdout + stderr).toBe(0);
      await platform.status('lab', { state: 'running', health: 'healthy', members: { total: 2, healthy: 2 } });
      const ready = ['get', 'nodes', '-o', 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}'];
      expect(await kubectl(...ready)).toBe('True True');
      const overrides = JSON.stringify({ spec: { terminationGracePeriodSeconds: 0 } });
      const image = ['--image=capstan.test/busybox:1', '--image-pull-policy=Never', `--overrides=${overrides}`];
      await kubectl('run', 'web', ...image, '--command', '--', 'sleep', '100000');
      await kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s');
      expect(await kubectl('exec', 'web', '--', 'hostname')).toBe('web');
    }, 600_000);

    test('is removed without residues', async () => {
      await platform.run('app', 'rm', 'lab', '--wait');
      await vi.waitFor(async () => expect((await platform.instances().list()).items).toEqual([]), patience);
      expect((await platform.operations('lab')).flatMap(({ status }) => status?.residues ?? [])).toEqual([]);
      for (const host of hosts.values()) {
        expect((await host.run(['ls', '/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/var/lib/capstan-apps'])).stdout).toBe('');
        expect(host.read('/etc/hosts')).not.toContain('capstan');
      }
    }, 300_000);
  },
);
