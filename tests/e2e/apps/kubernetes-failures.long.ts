import { tool } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterProblem, KubernetesHosts } from './kubernetes-hosts.ts';

const program = 'k3s';
const years = 365 * 24 * 60 * 60;
const faketime = await tool('faketime');

describeUnless(
  (await clusterProblem({ builds: true })) ?? ('missing' in faketime ? faketime.missing : undefined),
  `failures of a self-managed cluster of ${program}`,
  () => {
    let lab: KubernetesHosts;
    beforeAll(async () => {
      lab = await KubernetesHosts.start(program, 2, { clock: true });
      lab.add('server', 'gpu-1');
      lab.add('agent', 'gpu-2');
    });
    afterAll(() => lab?.[Symbol.asyncDispose]());

    /** The reason for which an operation fails, and its output. */
    const failure = async (operation: Promise<unknown>): Promise<string> => {
      await expect(operation).rejects.toThrow();
      return operation.then(
        () => '',
        (error: Error) => error.message,
      );
    };

    test('names the program that has a port', async () => {
      const listener = lab.host('gpu-1').start('listener', [process.execPath, '-e', "require('net').createServer().listen(6443)"]);
      await listener.waitUntil(
        'listens',
        async () => (await lab.host('gpu-1').run(['sh', '-c', 'grep -q :192B /proc/net/tcp*'])).code === 0,
      );
      const found = await failure(lab.runner.do('deploy'));
      expect(found).toContain('PortInUse');
      expect(found).toMatch(/port 6443, but \S*node -e .*\(process \d+\) listens on it/);
      await listener.kill();
    });

    test('says how much space is missing', async () => {
      await lab.host('gpu-2').mountSmallDisk('/var/lib', 64);
      const found = await failure(lab.runner.do('deploy'));
      expect(found).toContain('DiskFull');
      expect(found).toMatch(/expected 2048 MiB of free space in \/var\/lib, found \d+ MiB/);
      await lab.host('gpu-2').run(['umount', '/var/lib']);
    });

    test('suspects the clock of a node to which certificates are not valid yet', async () => {
      lab.host('gpu-2').setClock(-20 * years);
      const found = await failure(lab.runner.do('deploy'));
      expect(found).toContain('ClockWrong');
      expect(found).toContain('set its clock');
      lab.host('gpu-2').setClock(0);
      await lab.runner.do('deploy');
      expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    });

    test('names a token that the server does not accept, and repairs the member', async () => {
      await lab.runner.service('lab-gpu-2')?.kill();
      const file = '/etc/rancher/k3s/config.yaml';
      const config = lab.host('gpu-2').read(file);
      lab.host('gpu-2').write(file, config.replace(/^token: .*$/m, 'token: "wrong"'), 0o600);
      expect(await failure(lab.runner.do('start'))).toContain('TokenRejected');
      await lab.runner.do('repair', { member: 'lab-gpu-2' });
      expect(await lab.readyNodes()).toEqual(['gpu-1', 'gpu-2']);
    });

    test('removes a member whose scripts for that are missing, without residues', async () => {
      expect((await lab.host('gpu-2').run(['sh', '-c', 'rm /usr/local/bin/k3s-*.sh'])).code).toBe(0);
      lab.drop('gpu-2');
      await lab.runner.do('change');
      expect(lab.runner.residues).toEqual([]);
    });

    test('removes a server that was killed while it started', async () => {
      await lab.runner.service('lab-gpu-1')?.kill();
      await lab.runner.do('decommission');
      expect(lab.runner.residues).toEqual([]);
    });
  },
);
