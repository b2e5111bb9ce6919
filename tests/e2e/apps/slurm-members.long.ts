import { setTimeout as sleep } from 'node:timers/promises';
import { type GPUNode, gpuNodeKind } from '@capstan/api';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Place, SlurmCluster, slurmProblem } from './slurm-cluster.ts';

const patience = { timeout: 60_000, interval: 250 };
/** A GPU that comes back must work for a minute before the agent believes it. */
const recovery = { timeout: 200_000, interval: 500 };
const declared = 'gpus:\n  - { model: H200, count: 1, memory: 141Gi }\n';
const gpuFile = '/var/lib/capstan-node-agent/gpus.yaml';

describeUnless(await slurmProblem(), 'a Slurm cluster with accounting and a machine to log in to', () => {
  let slurm: SlurmCluster;
  let kubeconfig: string;
  beforeAll(async () => {
    slurm = await SlurmCluster.start({ hasLogin: true, parameters: { accounting: true } });
    kubeconfig = await slurm.platform.addUser('ann');
    await slurm.want('g1', 'g2');
  });
  afterAll(() => slurm?.[Symbol.asyncDispose]());

  /** Runs a command in the shell that the platform gives to the user ann. */
  const shell = (...command: string[]): Promise<string> =>
    slurm.platform.run('app', 'shell', '--kubeconfig', kubeconfig, 'lab', '--', ...command);
  /** The records of a job: user and state of each line. */
  const records = (job: string): Promise<string> =>
    slurm.asAnn('login', 'sacct', '--noheader', '--parsable2', '--allocations', `--jobs=${job}`, '--format=User,State,AllocTRES');

  test('gives users the same uid on all members', async () => {
    for (const place of ['controller', 'g1', 'g2', 'login'] as const) expect(await slurm.run(place, 'id', '-u', 'ann'), place).toBe('2001');
  });

  test('opens shells on the machine to log in to, as the account of the user', async () => {
    expect(await shell('sh', '-c', 'echo $(hostname) $(id -un) $(id -u)')).toBe(`${slurm.host('login').name} ann 2001`);
  });

  test('runs a job from there, and has a record of it and its user', async () => {
    const job = await shell('sbatch', '--parsable', '--gres=gpu:1', '--chdir=/tmp', '--output=/tmp/job', '--wrap=id -u');
    await vi.waitFor(async () => expect(await records(job)).toMatch(/^ann\|COMPLETED\|.*gres\/gpu=1/), patience);
    const node = await slurm.asAnn('login', 'sacct', '--noheader', '--parsable2', '--allocations', `--jobs=${job}`, '--format=NodeList');
    const place = (['g1', 'g2'] as const).find((one) => slurm.host(one).name === node)!;
    expect(await slurm.shell(place, 'cat /tmp/job')).toBe('2001');
  });

  test.each([
    ['the controller is restarted', () => slurm.done('restart-controller')],
    ['the controller is killed', () => slurm.shell('controller', 'kill -9 $(cat /var/lib/slurm/slurmctld.pid)')],
    ['the daemon of its node is killed', () => slurm.shell('g1', 'kill -9 $(cat /run/slurmd.pid)')],
  ])('keeps a job while %s, and records its end', async (_, trouble) => {
    const wrapped = 'while [ ! -e /tmp/end ]; do sleep 0.1; done';
    const job = await shell(
      'sbatch',
      '--parsable',
      `--nodelist=${slurm.host('g1').name}`,
      '--chdir=/tmp',
      '--output=/tmp/job',
      `--wrap=${wrapped}`,
    );
    await vi.waitFor(async () => expect(await slurm.queue()).toBe('ann RUNNING'), patience);
    // Slurm saves its queue within five seconds.
    await sleep(6_000);
    await trouble();
    // Long enough for the agent to start it again.
    await sleep(5_000);
    await vi.waitFor(async () => expect(await slurm.queue()).toBe('ann RUNNING'), patience);
    await slurm.shell('g1', 'touch /tmp/end');
    await vi.waitFor(async () => expect(await records(job)).toMatch(/^ann\|COMPLETED\|/), patience);
    await slurm.shell('g1', 'rm /tmp/end');
    await slurm.healthy();
  });

  const healthOfGpu = async (place: Place): Promise<string | undefined> => {
    const { status } = await slurm.platform.platform.resource<GPUNode>(gpuNodeKind).get(slurm.host(place).name);
    return status?.gpus?.[0]?.health.state;
  };
  const breakGpu = async (place: Place): Promise<void> => {
    slurm.host(place).write(gpuFile, 'gpus: []\n');
    await vi.waitFor(async () => expect(await healthOfGpu(place)).toBe('Missing'), patience);
  };
  const mendGpu = async (place: Place): Promise<void> => {
    slurm.host(place).write(gpuFile, declared);
    await vi.waitFor(async () => expect(await healthOfGpu(place)).toBe('Healthy'), recovery);
  };

  test('drains a node whose GPU is out of order, and lets it take jobs again when it works', async () => {
    await breakGpu('g1');
    await vi.waitFor(
      async () => expect(await slurm.stateOf('g1')).toMatch(/^drained capstan: gpu GPU-declared-\S+ is out of order$/),
      patience,
    );
    const message = async (): Promise<string | undefined> => (await slurm.member('g1')).status?.message;
    await vi.waitFor(async () => expect(await message()).toMatch(/^GPU-declared-\S+ out of order, so the node is drained$/), patience);
    await mendGpu('g1');
    await vi.waitFor(async () => expect(await slurm.stateOf('g1')).toMatch(/^idle/), recovery);
    await slurm.healthy();
  });

  test('leaves the drain of somebody else, whatever becomes of the GPU', async () => {
    await slurm.run('controller', 'scontrol', 'update', `nodename=${slurm.host('g2').name}`, 'state=drain', 'reason=theirs');
    await breakGpu('g2');
    await slurm.done('reconcile');
    expect(await slurm.stateOf('g2')).toBe('drained theirs');
    await mendGpu('g2');
    await slurm.sees('g2', { health: 'degraded', message: 'somebody else has drained it: theirs' });
    await slurm.done('reconcile');
    expect(await slurm.stateOf('g2')).toBe('drained theirs');
    await slurm.done('undrain', { on: 'g2', parameters: { force: true } });
  });

  test('is removed without residues, also from the machine to log in to', async () => {
    expect((await slurm.remove())?.residues ?? []).toEqual([]);
    for (const place of ['controller', 'g1', 'g2', 'login'] as const) expect(await slurm.remains(place), place).toBe('');
  });
});
