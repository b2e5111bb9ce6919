import { relative, resolve } from 'node:path';
import { explain } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import { type ProcessDescription, type ReadyMessage, supervise } from '../supervise/supervisor.ts';
import { defaultDataDirectory, defaultPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

export interface UpFlags {
  readonly config?: string;
  readonly dataDir?: string;
  readonly host?: string;
  readonly port?: number;
  readonly runtimeConfig?: readonly string[];
}

/** The children are this very program, started as it was. */
const program = process.argv[1]!;

/** The embedded whole: every process of Capstan as a child that restarts alone. Resolves with the exit code. */
export async function up(flags: UpFlags): Promise<number> {
  const dataDirectory = resolve(flags.dataDir ?? defaultDataDirectory);
  const port = flags.port ?? defaultPort;
  const host = flags.host ?? '127.0.0.1';
  using _held = hold(dataDirectory, { host, port });
  const signal = shutdownSignal();
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  let announced = false;
  const serves = Promise.withResolvers<void>();
  const onReady = (name: string, message: ReadyMessage): void => {
    if (name !== 'apiserver') return;
    if (!announced) write(readyLine(message));
    announced = true;
    serves.resolve();
  };
  const processes: (ProcessDescription & { readonly after?: Promise<void> })[] = [
    {
      name: 'apiserver',
      args: ['apiserver', '--data-dir', dataDirectory, '--host', host, '--port', String(port), ...runtimeConfig(flags), ...config(flags)],
    },
    {
      name: 'controller-manager',
      // This directory is held by one alone, so there is no second one to contend with, and a new one works at once.
      args: ['controller-manager', '--data-dir', dataDirectory, '--port', '0', '--no-leader-elect'],
      // Before that, the kubeconfig is not there, or is that of the last start.
      after: serves.promise,
    },
  ];
  const stopAll = new AbortController();
  const either = AbortSignal.any([signal, stopAll.signal]);
  either.addEventListener('abort', () => serves.resolve(), { once: true });
  const codes = await Promise.all(
    processes.map(async (description) => {
      await description.after;
      const code = await supervise(description, { program, write, onReady, signal: either, grace: 10_000 });
      // One that cannot start for good ends the whole: half a Capstan would only hide it.
      stopAll.abort();
      return code;
    }),
  );
  return Math.max(...codes);
}

const config = ({ config: file }: UpFlags): string[] => (file === undefined ? [] : ['--config', resolve(file)]);

function runtimeConfig({ runtimeConfig: versions = [] }: UpFlags): string[] {
  return versions.length === 0 ? [] : ['--runtime-config', versions.join(',')];
}

function hold(dataDirectory: string, { host, port }: { host: string; port: number }): Disposable {
  try {
    return holdDirectory(dataDirectory);
  } catch (error) {
    throw explain(error, { dataDirectory, host, port });
  }
}

function readyLine({ url, kubeconfigPath }: ReadyMessage): string {
  const near = relative(process.cwd(), kubeconfigPath);
  const path = near.startsWith('..') ? kubeconfigPath : near;
  return `Capstan is ready at ${url}. Next: export KUBECONFIG=${path} && kubectl get namespaces`;
}
