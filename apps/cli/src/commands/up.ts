import { join, relative, resolve } from 'node:path';
import { accuse } from '@capstan/apiserver';
import { connectionOf, loadKubeconfig } from '@capstan/client';
import { readWholeConfig } from '../config/capstan.ts';
import { reachableAddress } from '../console/address.ts';
import { signInLink } from '../console/link.ts';
import { explain } from '../failure.ts';
import { holdDirectory } from '../holder.ts';
import { childLog, processLog } from '../log.ts';
import type { Readiness } from '../supervise/child.ts';
import type { ReadyMessage } from '../supervise/description.ts';
import { ProcessStates } from '../supervise/states.ts';
import { StatusFile } from '../supervise/status-file.ts';
import { superviseAll } from '../supervise/table.ts';
import { defaultDataDirectory, defaultHost, defaultPort } from './options.ts';
import { processTable, type UpFlags } from './processes.ts';
import { shutdownSignal } from './shutdown.ts';

/** Runs every process of Capstan as a child, restarting each on its own. Resolves with the exit code. */
export async function up(flags: UpFlags): Promise<number> {
  const file = flags.config === undefined ? {} : readWholeConfig(flags.config);
  const dataDirectory = resolve(flags.dataDir ?? file.dataDirectory ?? defaultDataDirectory);
  const { host = defaultHost, port = defaultPort } = { ...file.apiserver?.listen, ...flags };
  using _held = hold(dataDirectory, { host, port: Number(port) });
  const signal = shutdownSignal();
  const format = flags.logFormat ?? file.logFormat ?? 'text';
  const write = processLog({ process: 'up', format });
  using statusFile = new StatusFile(dataDirectory, write);
  const announced = new Map<string, ReadyMessage>();
  return await superviseAll(processTable(flags, file), {
    // The children run this same program, started the same way.
    program: process.argv[1]!,
    states: new ProcessStates((states) => statusFile.update(states)),
    write,
    writeChild: (name) => childLog({ process: name, format }),
    onReady: (name: string, { message }: Readiness) => {
      if (message === undefined || announced.has(name)) return;
      announced.set(name, message);
      if (name === 'apiserver') for (const line of readyLines(message)) write(line);
      if (name === 'console') {
        const address = reachableAddress(message.url, announced.get('apiserver')?.url ?? message.url);
        void consoleLine(address, { dataDirectory, isForPeople: format === 'text' }).then(write);
      }
    },
    beforeKill: (name) => (name === 'apiserver' ? doing(dataDirectory) : undefined),
    signal,
    grace: 10_000,
  });
}

/** The work that an API server was doing when it began to hang, if it says so. The next one does not do it again. */
function doing(dataDirectory: string): string | undefined {
  const evaluated = accuse(dataDirectory, new Date());
  return evaluated === undefined ? undefined : `it was evaluating ${evaluated}`;
}

function hold(dataDirectory: string, { host, port }: { host: string; port: number }): Disposable {
  try {
    return holdDirectory(dataDirectory);
  } catch (error) {
    throw explain(error, { dataDirectory, host, port });
  }
}

function readyLines({ url, kubeconfigPath }: ReadyMessage): string[] {
  const near = relative(process.cwd(), kubeconfigPath);
  const path = near.startsWith('..') ? kubeconfigPath : near;
  return [
    `Capstan is ready at ${url}. Next, in another terminal: export KUBECONFIG=${path}`,
    'Offer a part of this machine, and run something: capstan offering create small --cpu 1 --memory 1Gi; capstan ws use root:main:default; capstan run -- echo hello',
  ];
}

/** A link is a credential, so it goes to a terminal only, where somebody reads it now, and never into a log. */
async function consoleLine(
  url: string,
  { dataDirectory, isForPeople }: { readonly dataDirectory: string; readonly isForPeople: boolean },
): Promise<string> {
  const plain = `The console is at ${url}. Get a link to sign in with: capstan console`;
  if (!isForPeople || !process.stdout.isTTY) return plain;
  try {
    const connection = connectionOf(loadKubeconfig({ path: join(dataDirectory, 'admin.kubeconfig') }), 'capstan');
    return `The console, for one sign-in within ten minutes: ${await signInLink(url, connection)}`;
  } catch {
    return plain;
  }
}
