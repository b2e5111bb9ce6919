import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { TaskFailure } from '../failure.ts';
import { runProcess } from '../processes.ts';
import { taskType } from '../task-type.ts';

const execute = promisify(execFile);

interface PackageManager {
  readonly program: string;
  readonly isInstalled: (name: string, signal: AbortSignal) => Promise<boolean>;
  readonly command: (state: 'present' | 'absent', names: readonly string[]) => [string, ...string[]];
}

const succeeds = (program: string, args: readonly string[], signal: AbortSignal): Promise<boolean> =>
  execute(program, [...args], { signal, killSignal: 'SIGKILL' }).then(
    () => true,
    () => false,
  );

const apt: PackageManager = {
  program: 'apt-get',
  isInstalled: async (name, signal) => {
    const args = ['--show', `--showformat=$\{db:Status-Status}`, name];
    const found = await execute('dpkg-query', args, { signal, killSignal: 'SIGKILL' }).catch(() => undefined);
    return found?.stdout === 'installed';
  },
  command: (state, names) => [
    'apt-get',
    '--yes',
    '--no-install-recommends',
    // Waits for another run of dpkg instead of failing.
    '--option=DPkg::Lock::Timeout=300',
    state === 'present' ? 'install' : 'remove',
    ...names,
  ],
};

const dnf: PackageManager = {
  program: 'dnf',
  isInstalled: (name, signal) => succeeds('rpm', ['--query', name], signal),
  command: (state, names) => ['dnf', '--assumeyes', state === 'present' ? 'install' : 'remove', ...names],
};

/** Packages of Debian and Ubuntu, or of Fedora and its relatives. */
export const packageEnsure = taskType<'packageEnsure'>({
  name: 'package.ensure',
  field: 'packageEnsure',
  afterCrash: 'resume',
  exclusive: 'packages',
  async check({ names, state }, { signal }) {
    const { isInstalled } = await packageManager(signal);
    const installed = await Promise.all(names.map((name) => isInstalled(name, signal)));
    return installed.every((one) => one === (state === 'present'));
  },
  async run({ names, state }, context) {
    context.step(`${state === 'present' ? 'installing' : 'removing'} ${names.join(', ')}`);
    const { command } = await packageManager(context.signal);
    return runProcess(context, { command: command(state, names), environment: { DEBIAN_FRONTEND: 'noninteractive' } });
  },
});

async function packageManager(signal: AbortSignal): Promise<PackageManager> {
  for (const manager of [apt, dnf]) if (await succeeds(manager.program, ['--version'], signal)) return manager;
  signal.throwIfAborted();
  throw new TaskFailure('NotSupported', 'this machine has neither apt-get nor dnf');
}
