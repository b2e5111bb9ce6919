import { relative, resolve } from 'node:path';
import { explain } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import { type ProcessDescription, type ReadyMessage, supervise } from '../supervise/supervisor.ts';
import { defaultDataDirectory, defaultPort } from './options.ts';
import { shutdownSignal } from './shutdown.ts';

export interface UpFlags {
  readonly dataDir?: string;
  readonly host?: string;
  readonly port?: number;
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
  const onReady = (_name: string, message: ReadyMessage): void => {
    if (!announced) write(readyLine(message));
    announced = true;
  };
  const processes: ProcessDescription[] = [
    { name: 'apiserver', args: ['apiserver', '--data-dir', dataDirectory, '--host', host, '--port', String(port)] },
  ];
  const stopAll = new AbortController();
  const either = AbortSignal.any([signal, stopAll.signal]);
  const codes = await Promise.all(
    processes.map(async (description) => {
      const code = await supervise(description, { program, write, onReady, signal: either, grace: 10_000 });
      // One that cannot start for good ends the whole: half a Capstan would only hide it.
      stopAll.abort();
      return code;
    }),
  );
  return Math.max(...codes);
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
