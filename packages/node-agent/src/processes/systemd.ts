import { execFile } from 'node:child_process';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cgroupMount, ProcessGroup } from './cgroup.ts';
import type { ProcessSpec } from './driver.ts';
import { marker } from './proc.ts';
import { records, shimArguments } from './shim.ts';
import { ShimDriver, type Starting } from './shim-driver.ts';

const slice = 'capstan.slice';
const unitOf = (id: string): string => `capstan-${id}.service`;

/**
 * Processes that were started in the background stay when the first one ends, as with the supervisor. A process that was killed for want of memory does not take
 * the others with it. Programs may make control groups of their own, as slurmd does. The shim keeps the output.
 */
const properties = [
  ...['Type=exec', 'KillMode=process', 'OOMPolicy=continue', 'TasksMax=infinity', 'Delegate=yes'],
  ...['StandardInput=null', 'StandardOutput=null', 'StandardError=null'],
];

/** Runs processes as transient units of systemd: each in a cgroup that systemd makes, apart from the unit of the agent. */
export class Systemd extends ShimDriver {
  readonly name = 'systemd';

  constructor({ directory }: { readonly directory: string }) {
    super(directory);
  }

  /** Why it cannot be used here; undefined if it can. */
  static async problem(): Promise<string | undefined> {
    if (!(await isBooted())) return 'systemd is not the first process of this machine';
    if (process.getuid?.() !== 0) return 'only root may start units of the system';
    if ((await cgroupMount()) === undefined) return 'there are no control groups of version 2';
    return (await run('systemd-run', ['--version'])) === undefined ? undefined : 'there is no systemd-run';
  }

  protected async launch(spec: ProcessSpec, folder: string): Promise<Starting> {
    // The properties of units are readable for everybody, and the environment may contain secrets.
    await writeFile(join(folder, records.environment), shellVariables(spec.environment ?? {}), { mode: 0o600, flag: 'wx' });
    const failure = await run('systemd-run', [
      ...['--quiet', '--collect', `--unit=${unitOf(spec.id)}`, `--slice=${slice}`],
      ...properties.map((property) => `--property=${property}`),
      ...[`--setenv=PATH=${process.env['PATH'] ?? '/usr/bin:/bin'}`, `--setenv=${marker}=${spec.id}`],
      ...['--', '/bin/sh', ...shimArguments(spec, { folder, entrance: '' }).map(escapeVariables)],
    ]);
    return { failure: () => failure };
  }

  protected async groupOf(id: string): Promise<ProcessGroup | undefined> {
    const mount = await cgroupMount();
    return mount === undefined ? undefined : new ProcessGroup(join(mount, await managerGroup(), slice, unitOf(id)));
  }
}

/** Whether systemd is the first process, as systemd itself finds out. */
export function isBooted(): Promise<boolean> {
  return access('/run/systemd/system').then(
    () => true,
    () => false,
  );
}

/** The cgroup below which systemd makes those of units; not the root in some containers. */
async function managerGroup(): Promise<string> {
  const text = await readFile('/proc/1/cgroup', 'utf8').catch(() => '');
  const own = text.split('\n').find((line) => line.startsWith('0::'));
  return (own?.slice('0::'.length) ?? '/').replace(/\/init\.scope$/, '/');
}

/** systemd replaces variables in the arguments of units. */
function escapeVariables(argument: string): string {
  return argument.replaceAll('$', '$$$$');
}

/** A shell script that sets variables. */
function shellVariables(environment: Readonly<Record<string, string>>): string {
  return Object.entries(environment)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
        throw new Error(`expected a name of letters, digits and underscores for an environment variable, found ${JSON.stringify(name)}`);
      return `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`;
    })
    .join('');
}

/** Undefined if the program succeeds; otherwise its last words. */
function run(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, [...args], { timeout: 30_000 }, (error, _output, words) =>
      resolve(error === null ? undefined : words.trim() || error.message),
    );
  });
}
