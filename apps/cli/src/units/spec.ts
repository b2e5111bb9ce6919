import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { GPUUnitSpec, UnitMount, UnitPort, UnitVariable } from '@capstan/api';
import { Failure } from '../failure.ts';

/** The flags that describe a program and what it needs. */
export interface SpecFlags {
  readonly offering?: string;
  readonly gpu?: string;
  readonly gpus?: number;
  readonly gpuMemory?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly image?: string;
  readonly env?: readonly string[];
  readonly port?: readonly string[];
  readonly volume?: readonly string[];
  readonly nodes?: number;
  readonly priority?: number;
  readonly tty?: boolean;
  readonly workdir?: string;
  readonly maxDuration?: string;
  readonly idleTimeout?: string;
  readonly network?: 'isolated' | 'host' | 'none';
  readonly restart?: 'never' | 'on-failure' | 'always';
}

export type WrittenSpec = Partial<GPUUnitSpec>;

const networks = { isolated: 'Isolated', host: 'Host', none: 'None' } as const;
const restartPolicies = { never: 'Never', 'on-failure': 'OnFailure', always: 'Always' } as const;

/** The spec of a unit without the resources that it runs on. */
export function programOf(command: readonly string[], flags: SpecFlags, environment: NodeJS.ProcessEnv = process.env): WrittenSpec {
  const { image, env = [], port = [], volume = [], nodes, priority, tty, workdir, maxDuration, idleTimeout, network, restart } = flags;
  if (command.length === 0 && image === undefined)
    throw new Failure('usage', 'expected a command after --, or an image that has one. For example: capstan run -- python3 train.py');
  const ports = port.map(portOf);
  return {
    ...(image !== undefined && { image }),
    ...(command.length > 0 && { command: [...command] }),
    ...(env.length > 0 && { env: lastOfEach(env.map((one) => variableOf(one, environment))) }),
    ...(ports.length > 0 && { ports, access: { port: ports[0]!.name, scheme: 'http' as const } }),
    ...(volume.length > 0 && { mounts: volume.map(mountOf) }),
    ...(nodes !== undefined && { nodes }),
    ...(priority !== undefined && { priority }),
    ...(tty === true && { tty }),
    ...(workdir !== undefined && { workingDirectory: workdir }),
    ...(maxDuration !== undefined && { maxDuration }),
    ...(idleTimeout !== undefined && { idleTimeout }),
    ...(network !== undefined && { network: networks[network] }),
    ...(restart !== undefined && { restartPolicy: restartPolicies[restart] }),
  };
}

/** Resources on each node that the flags ask for; undefined if they name none. */
export function resourcesOf({ offering, gpu, gpus, gpuMemory, cpu, memory }: SpecFlags): GPUUnitSpec['resources'] {
  const hasGpu = gpu !== undefined || gpus !== undefined || gpuMemory !== undefined;
  if (!hasGpu && cpu === undefined && memory === undefined) return undefined;
  if (offering !== undefined)
    throw new Failure(
      'usage',
      '--offering has its own resources: leave out --gpu, --gpus, --gpu-memory, --cpu and --memory, or leave out --offering.',
    );
  return {
    ...(hasGpu && {
      gpu: { count: gpus ?? 1, ...(gpu !== undefined && { model: gpu }), ...(gpuMemory !== undefined && { memory: gpuMemory }) },
    }),
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
  };
}

/** `NAME=value`, or `NAME` for the value that it has here. */
function variableOf(text: string, environment: NodeJS.ProcessEnv): UnitVariable {
  const mark = text.indexOf('=');
  const name = mark < 0 ? text : text.slice(0, mark);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new Failure('usage', `--env: expected NAME=value, found ${JSON.stringify(text)}.`);
  const value = mark < 0 ? environment[name] : text.slice(mark + 1);
  if (value === undefined) throw new Failure('usage', `--env: the variable ${name} is not set here. Give it a value: --env ${name}=value`);
  return { name, value };
}

/** As in a shell, the last value counts. */
function lastOfEach(variables: readonly UnitVariable[]): UnitVariable[] {
  return [...new Map(variables.map((variable) => [variable.name, variable])).values()];
}

/** `web=8080`, or `8080` alone. */
function portOf(text: string): UnitPort {
  const [, name, number = ''] = /^(?:([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(number);
  if (number === '' || port < 1 || port > 65_535)
    throw new Failure('usage', `--port: expected NAME=NUMBER, such as web=8080, found ${JSON.stringify(text)}.`);
  return { name: name ?? `port-${port}`, port };
}

/** `data:/path`, or `data:/path:ro`. */
function mountOf(text: string): UnitMount {
  const [, storage, path, mode] = /^([^:]+):(\/[^:]+)(?::(ro|rw))?$/.exec(text) ?? [];
  if (storage === undefined || path === undefined)
    throw new Failure('usage', `--volume: expected STORAGE:/path or STORAGE:/path:ro, found ${JSON.stringify(text)}.`);
  return { storage, path, readOnly: mode === 'ro' };
}

const interpreters = /^(python[\d.]*|node|ruby|perl|bash|sh|zsh|env|uv|uvx|npx|torchrun|accelerate)$/;

/** A name that tells units apart in lists: of the script or program, and some random digits. */
export function nameFor(command: readonly string[], image: string | undefined): string {
  const [program = '', ...args] = command;
  const script = interpreters.test(basename(program)) ? args.find((word) => /\.\w+$/.test(word) && !word.startsWith('-')) : undefined;
  const word = script ?? (program === '' ? (image ?? 'unit').replace(/[:@].*$/, '') : program);
  const base = basename(word)
    .replace(/\.\w+$/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return `${/^[a-z]/.test(base) ? base : `unit${base === '' ? '' : `-${base}`}`}-${randomBytes(2).toString('hex')}`;
}
