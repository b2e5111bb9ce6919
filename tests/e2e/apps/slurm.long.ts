import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SlurmCluster, slurmProblem } from './slurm-cluster.ts';

const patience = { timeout: 30_000, interval: 200 };

describeUnless(await slurmProblem(), 'the operations of a Slurm cluster', () => {
  let slurm: SlurmCluster;
  beforeAll(async () => {
    slurm = await SlurmCluster.start();
    await slurm.want('g1', 'g2');
  });
  afterAll(() => slurm?.[Symbol.asyncDispose]());

  test('drain a node and take it back, but leave the drains of others alone', async () => {
    await slurm.done('drain', { on: 'g2', parameters: { reason: 'new fan', wait: true } });
    expect(await slurm.stateOf('g2')).toMatch(/^drained capstan: \S+ new fan$/);
    await slurm.done('undrain', { on: 'g2' });
    expect(await slurm.stateOf('g2')).toMatch(/^idle/);
    await slurm.run('controller', 'scontrol', 'update', `nodename=${slurm.host('g2').name}`, 'state=drain', 'reason=theirs');
    expect((await slurm.operate('undrain', { on: 'g2' })).status).toMatchObject({ state: 'failed', errors: [{ code: 'DrainedByOthers' }] });
    expect(await slurm.stateOf('g2')).toBe('drained theirs');
    await slurm.sees('g2', { health: 'degraded', message: 'somebody else has drained it: theirs' });
    await slurm.done('undrain', { on: 'g2', parameters: { force: true } });
  });

  test('repair a daemon that hangs, while Slurm calls its node idle', async () => {
    await slurm.shell('g1', 'kill -STOP $(cat /run/slurmd.pid)');
    await slurm.sees('g1', { health: 'failed', message: 'slurmd runs, but does not answer' });
    expect(await slurm.stateOf('g1')).toMatch(/^idle/);
    await slurm.done('repair', { on: 'g1' });
    await slurm.healthy();
  });

  test('wait for the jobs of a node that leaves, and leave nothing on it', async () => {
    const node = `--nodelist=${slurm.host('g2').name}`;
    await slurm.run('controller', 'sbatch', node, '--chdir=/tmp', '--output=/tmp/last', '--wrap=sleep 5; echo done');
    await vi.waitFor(async () => expect(await slurm.queue()).toBe('root RUNNING'), patience);
    await slurm.want('g1');
    expect(await slurm.shell('g2', 'cat /tmp/last')).toBe('done');
    expect(await slurm.run('controller', 'sinfo', '--noheader', '--Node', '--format=%N')).toBe(slurm.host('g1').name);
    expect((await slurm.find())?.status?.residues ?? []).toEqual([]);
    expect(await slurm.remains('g2')).toBe('');
  });
});
