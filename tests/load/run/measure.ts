import { Child, capstanProgram, deleteStorage, temporaryDirectory, tool } from '@capstan/testbed';
import { ControlPlane } from '../agents/control-plane.ts';
import { Latencies } from '../measure/latencies.ts';
import type { Column } from '../measure/table.ts';
import { startNomad } from '../nomad/nomad.ts';
import type { Measurement } from '../profiles/profile.ts';
import { makeProject, projectKubeconfig } from '../stock/project.ts';
import { timeToFirstOutput } from './first-output.ts';
import { type PodmanMachine, startPodman } from './podman.ts';

export interface RunAmounts {
  /** Runs of each command. */
  readonly count?: number | undefined;
  /** The other commands: `nomad`, `podman`. Empty for all. */
  readonly only?: readonly string[];
}

/** A command that starts a program; in milliseconds. */
interface Runner {
  readonly name: string;
  /** From before the command to the first output of the program, or to its start if the command does not show its output. */
  run(number: number): Promise<number>;
}

const program = ['/bin/sh', '-c', 'echo started'] as const;

/** `capstan run` beside `nomad job run`, and beside `podman run` with the same image: in turns, on one machine. */
export async function compareRuns({ count = 20, only = [] }: RunAmounts): Promise<Column[][]> {
  const directory = temporaryDirectory('load-run');
  // Nomad leaves mounts behind.
  using _directory = { [Symbol.dispose]: () => deleteStorage(directory) };
  const isWanted = (name: 'nomad' | 'podman'): boolean => only.length === 0 || only.includes(name);
  const hasNomad = isWanted('nomad') && (await isAvailable('nomad'));
  const hasPodman = isWanted('podman') && (await isAvailable('podman')) && (await isAvailable('containerd'));
  await using nomad = hasNomad ? await startNomad(directory) : undefined;
  await using podman = hasPodman ? await startPodman() : undefined;
  await using machine = await startCapstan(podman);
  const tables: Column[][] = [];
  const job: Runner | undefined = nomad && {
    name: 'nomad job run',
    run: async (number) => {
      const began = performance.timeOrigin + performance.now();
      await nomad.command(`run-${number}`);
      return (await nomad.started(`run-${number}`)) - began;
    },
  };
  tables.push(await inTurns([...(job ? [job] : []), machine.runner('capstan run', [])], count));
  if (podman !== undefined)
    tables.push(
      await inTurns(
        [
          { name: 'podman run', run: () => timeToFirstOutput(podman.run(program)) },
          machine.runner('capstan run --image', ['--image', podman.image, '--network', 'none']),
        ],
        count,
      ),
    );
  return tables;
}

async function isAvailable(name: 'nomad' | 'podman' | 'containerd'): Promise<boolean> {
  const found = await tool(name);
  if ('missing' in found) process.stderr.write(`SKIPPED the rows beside ${name}: ${found.missing}\n`);
  return 'path' in found;
}

/** The first run of each is not counted: code is compiled while it runs. */
async function inTurns(runners: readonly Runner[], count: number): Promise<Column[]> {
  const times = new Map(runners.map((runner) => [runner, new Latencies(count)]));
  for (let number = 0; number <= count; number++)
    for (const [runner, latencies] of times) {
      const time = await runner.run(number);
      if (number > 0) latencies.add(time);
    }
  return [...times].map(([{ name }, latencies]) => ({
    name,
    measurements: [0.5, 0.99].map(
      (share): Measurement => ({
        what: `from the start of a command to the first output of its program: p${share * 100}`,
        value: latencies.quantile(share),
        unit: 'ms',
        better: 'lower',
      }),
    ),
  }));
}

interface Machine extends AsyncDisposable {
  runner(name: string, flags: readonly string[]): Runner;
}

/** A `capstan up`, and an agent that isolates units if it can. */
async function startCapstan(podman: PodmanMachine | undefined): Promise<Machine> {
  const plane = await ControlPlane.start();
  let agent: Child | undefined;
  const stop = async (): Promise<void> => {
    await agent?.stop(20_000);
    await plane[Symbol.asyncDispose]();
  };
  try {
    const [command = '', ...args] = await plane.enroll('n1');
    const more = ['--state-dir', plane.directory.join('n1'), '--allow-unisolated'];
    const environment = podman && { environment: { CONTAINER_HOST: `unix://${podman.socket}` } };
    const started = new Child('capstan node-agent', [process.execPath, capstanProgram, command, ...args, ...more], environment);
    agent = started;
    await started.waitUntil('its tunnel is open', () => started.output.includes('is open'));
    await makeProject(plane);
    const KUBECONFIG = projectKubeconfig(plane);
    // Without a limit of processor time, as the others have none.
    const usual = ['run', '--no-upload', '--quiet', '--rm', '--memory', '256Mi'];
    return {
      runner: (name, flags) => ({
        name,
        run: () =>
          timeToFirstOutput({
            words: [process.execPath, capstanProgram, ...usual, ...flags, '--', ...program],
            environment: { KUBECONFIG },
          }),
      }),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
