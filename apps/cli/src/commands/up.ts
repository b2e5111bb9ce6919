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
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  stop.addEventListener('abort', () => serves.resolve(), { once: true });
  // The controllers end first: what they are about to write still finds a server.
  const idle = new AbortController();
  const keep = async (description: ProcessDescription, until: AbortSignal): Promise<number> => {
    const code = await supervise(description, { program, write, onReady, signal: until, grace: 10_000 });
    // One that cannot start for good ends the whole: half a Capstan would only hide it.
    failed.abort();
    return code;
  };
  const codes = await Promise.all([
    keep(
      {
        name: 'apiserver',
        args: ['apiserver', '--data-dir', dataDirectory, '--host', host, '--port', String(port), ...runtimeConfig(flags), ...config(flags)],
      },
      idle.signal,
    ),
    // Before it serves, the kubeconfig is not there, or is that of the last start.
    serves.promise
      // This directory is held by one alone, so there is no second manager to contend with, and a new one works at once.
      .then(() =>
        keep(
          { name: 'controller-manager', args: ['controller-manager', '--data-dir', dataDirectory, '--port', '0', '--no-leader-elect'] },
          stop,
        ),
      )
      .finally(() => idle.abort()),
  ]);
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
