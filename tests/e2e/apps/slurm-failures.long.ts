import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Place, SlurmCluster, slurmProblem } from './slurm-cluster.ts';

const patience = { timeout: 240_000, interval: 500 };
const sources = '/etc/apt/capstan/sources.list';
const listening = 'use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalPort => 6817, Listen => 1, ReuseAddr => 1) or die; sleep 600';

/** Ways in which a cluster breaks. Each is named by `capstan app status`, with what to do. */
describeUnless(await slurmProblem(), 'the status of a broken Slurm cluster', () => {
  let slurm: SlurmCluster;
  const owned = new AsyncDisposableStack();
  beforeAll(async () => {
    slurm = owned.use(await SlurmCluster.start());
  });
  afterAll(() => owned.disposeAsync());

  const status = (): Promise<string> => slurm.platform.run('app', 'status', 'lab');
  /** Resolves when the status contains all of this. */
  const says = async (...texts: string[]): Promise<void> => {
    const shown = await vi.waitFor(async () => {
      const text = await status();
      for (const one of texts) expect(text).toContain(one);
      return text;
    }, patience);
    if (process.env['SHOW'] !== undefined) process.stderr.write(`\n$ capstan app status lab\n${shown}\n`);
  };
  const name = (place: Place): string => slurm.host(place).name;

  test('names a taken port, a changed host name, and control groups that are missing', async () => {
    const listener = slurm.host('controller').start('listener', ['perl', '-e', listening]);
    owned.use(listener);
    await slurm.run('g1', 'hostname', 'wrong');
    await slurm.askWith({ confinement: 'cgroup' }, 'g1', 'g2');
    await says(
      'PortTaken',
      'Slurm needs the port 6817, but perl -e',
      'listens on it; stop it, and retry',
      `the host name of this machine is wrong, but its agent has reported ${name('g1')}`,
      'set it back with hostnamectl',
      'jobs cannot be confined',
      'or set the parameter confinement to none',
    );
    await listener.stop();
    await slurm.run('g1', 'hostname', name('g1'));
  });

  test('names packages that the archive does not have, and goes on when it has them', async () => {
    const before = slurm.host('controller').read(sources);
    slurm.host('controller').write(sources, '');
    await slurm.ask('g1', 'g2');
    await says('PackagesNotInstalled', 'Unable to locate package', 'Check that', 'reaches its package archive');
    slurm.host('controller').write(sources, before);
    await slurm.run('controller', 'apt-get', '--quiet=2', 'update');
    await slurm.platform.run('app', 'do', 'lab', 'retry', '--wait');
    await slurm.want('g1', 'g2');
    await slurm.healthy();
  });

  test('names a daemon that is killed again and again', async () => {
    const killing = 'for try in 1 2 3 4 5 6 7; do until pid=$(pgrep -x slurmd); do sleep 0.2; done; kill -9 $pid; sleep 0.3; done';
    await slurm.host('g1').run(['sh', '-c', killing], { timeout: 110_000 });
    await says(name('g1'), 'times in the last ten minutes');
    await slurm.shell('g1', 'rm -r /run/slurm-starts');
    await slurm.healthy();
  });

  test('names the device file of a GPU that is missing', async () => {
    await slurm.shell('g1', 'rm /var/lib/slurm/gpus/gpu0; kill -9 $(pgrep -x slurmd)');
    await says('/var/lib/slurm/gpus/gpu0 of its GPUs is missing: look at the driver of the machine');
    await slurm.shell('g1', 'mknod -m 0666 /var/lib/slurm/gpus/gpu0 c 1 3');
    await slurm.healthy();
  });

  test('names a disk without space for the queue', async () => {
    const folder = '/var/lib/slurm/slurmctld';
    await slurm.host('controller').mountSmallDisk(folder, 4);
    await slurm.shell('controller', `chown slurm ${folder}`);
    slurm.host('controller').fillDisk(folder);
    await says(`the disk with ${folder} is full, so Slurm cannot save its state: free some space on ${name('controller')}`);
    await slurm.run('controller', 'umount', folder);
    await slurm.healthy();
  });

  test('names a controller whose node is silent', async () => {
    const agent = slurm.platform.agents.get(name('controller'))!;
    await agent.pause();
    await says(`the node ${name('controller')} is silent`);
    agent.resume();
    await slurm.healthy();
  });

  test('is removed while a job runs, and the job with it', async () => {
    await slurm.ann('sbatch', '--chdir=/tmp', '--output=/tmp/job', '--wrap=sleep 1234');
    await vi.waitFor(async () => expect(await slurm.queue()).toBe('ann RUNNING'), patience);
    expect((await slurm.remove())?.residues ?? []).toEqual([]);
    for (const place of ['g1', 'g2'] as const) expect(await slurm.shell(place, 'pgrep -af "sleep 1234" | grep -v pgrep || true')).toBe('');
  });
});
