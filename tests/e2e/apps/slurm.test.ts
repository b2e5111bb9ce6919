import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SlurmCluster, slurmProblem } from './slurm-cluster.ts';

const patience = { timeout: 30_000, interval: 200 };
const timeout = 240_000;

describeUnless(await slurmProblem(), 'a Slurm cluster', () => {
  let slurm: SlurmCluster;
  beforeAll(async () => {
    slurm = await SlurmCluster.start({ repairAfterProbes: 1 });
  }, timeout);
  afterAll(() => slurm?.[Symbol.asyncDispose]());

  test(
    'runs the jobs of a user with GPUs',
    async () => {
      await slurm.want('g1');
      const script = 'echo $(hostname) $(id -u) $CUDA_VISIBLE_DEVICES';
      expect(await slurm.ann('srun', '--chdir=/tmp', '--gres=gpu:h200:1', 'sh', '-c', script)).toBe(`${slurm.host('g1').name} 2001 0`);
    },
    timeout,
  );

  test(
    'gets another node and a restart of its controller while a job goes on',
    async () => {
      await slurm.ann('sbatch', '--chdir=/tmp', '--output=/tmp/job', '--wrap=while [ ! -e /tmp/end ]; do sleep 0.1; done; echo done');
      await vi.waitFor(async () => expect(await slurm.queue()).toBe('ann RUNNING'), patience);
      await slurm.want('g1', 'g2');
      await slurm.done('restart-controller');
      const nodes = [slurm.host('g1').name, slurm.host('g2').name].sort();
      expect((await slurm.run('controller', 'srun', '--nodes=2', '--gres=gpu:1', 'hostname')).split('\n').sort()).toEqual(nodes);
      // The job that has just ended may still be on its way out.
      await vi.waitFor(async () => expect(await slurm.queue()).toBe('ann RUNNING'), patience);
      await slurm.shell('g1', 'touch /tmp/end');
      await vi.waitFor(async () => expect(await slurm.shell('g1', 'cat /tmp/job')).toBe('done'), patience);
    },
    timeout,
  );

  test(
    'names a wrong munge key, and the platform repairs it by itself',
    async () => {
      const wrongKey = 'head -c 64 /dev/urandom > /etc/munge/munge.key; kill $(cat /run/munge/munged.pid)';
      const expected = { health: 'failed', message: 'its munge key is not that of the controller' };
      await slurm.sees('g2', expected, () => slurm.shell('g2', wrongKey));
      await slurm.healthy();
    },
    timeout,
  );

  test(
    'is removed without residues',
    async () => {
      expect((await slurm.remove())?.residues ?? []).toEqual([]);
      for (const place of ['controller', 'g1', 'g2'] as const) expect(await slurm.remains(place), place).toBe('');
    },
    timeout,
  );
});
