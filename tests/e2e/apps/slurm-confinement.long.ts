import { cgroupProblem, mountOldGroups } from '@capstan/testbed';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SlurmCluster, slurmProblem } from './slurm-cluster.ts';

const gpu = '/var/lib/slurm/gpus/gpu0';

/** With control groups of version 1. */
describeUnless((await slurmProblem()) ?? cgroupProblem(), 'jobs that are confined', () => {
  const owned = new AsyncDisposableStack();
  let slurm: SlurmCluster;
  beforeAll(async () => {
    // They can only be removed when their hosts are gone.
    const groups = owned.use(new AsyncDisposableStack());
    slurm = owned.use(
      await SlurmCluster.start({
        parameters: { confinement: 'cgroup' },
        prepare: async (host) => void groups.use(await mountOldGroups(host)),
      }),
    );
    await slurm.want('g1');
  });
  afterAll(() => owned.disposeAsync());

  const job = (...command: string[]): Promise<string> => slurm.ann('srun', '--chdir=/tmp', ...command);

  test('can open the GPU that they asked for, and no other', async () => {
    // It is a stand-in without a driver, so opening it fails in any case, but for another reason.
    const open = ['sh', '-c', `true < ${gpu}`];
    await expect(job('--gres=gpu:1', ...open)).rejects.toThrow('No such device');
    await expect(job(...open)).rejects.toThrow('Operation not permitted');
  });

  test('run on the cores that they asked for', async () => {
    expect(await job('--cpus-per-task=1', 'nproc')).toBe('1');
    expect(await job('--cpus-per-task=2', 'nproc')).toBe('2');
  });

  test('end when they use more memory than they asked for', async () => {
    const take = (megabytes: number): Promise<string> =>
      job('--mem=100M', 'perl', '-e', `my $text = "x" x (${megabytes} << 20); print length $text`);
    expect(await take(20)).toBe(String(20 << 20));
    await expect(take(300)).rejects.toThrow(/oom|Out Of Memory/i);
  });

  test('leave nothing behind, and neither does the cluster', async () => {
    expect((await slurm.remove())?.residues ?? []).toEqual([]);
    expect(await slurm.shell('g1', 'ls -d /sys/fs/cgroup/*/slurm 2> /dev/null || true')).toBe('');
  });
});
