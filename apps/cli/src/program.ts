import { ApiError, ConnectionError } from '@capstan/client';
import { Command, CommanderError, Option } from 'commander';
import type { ControllerManagerFlags } from './commands/manager-settings.ts';
import {
  type ApiServerFlags,
  defaultDataDirectory,
  defaultHealthPort,
  defaultPort,
  parseAdvertiseFlag,
  parseEndpoints,
  parseHealthPort,
  parsePort,
} from './commands/options.ts';
import { parseRuntimeConfig } from './commands/runtime-config.ts';
import type { SnapshotFlags } from './commands/snapshot.ts';
import type { UpFlags } from './commands/up.ts';
import { versionText } from './commands/version.ts';
import type { WorkspaceSnapshotFlags } from './commands/workspace-snapshot.ts';
import { ConfigError } from './config/document.ts';
import { exitCodes, Failure } from './failure.ts';
import { commented, examples, type HelpLine } from './help.ts';
import { addBindings, kubeconfigOption } from './program-bindings.ts';
import { addWorkspaces } from './program-workspaces.ts';

/** Parses the command line and runs the command. Commands are loaded when they are asked for: `capstan version` does not load a server. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    // It has said what is wrong already, or has shown the help that was asked for.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
      return;
    }
    process.exitCode = report(error);
    // What a failed start left open (a connection that is being tried, a thread that ends) must not keep the process.
    setTimeout(() => process.exit(), 500).unref();
  }
}

function report(error: unknown): number {
  if (error instanceof ConfigError) return tell(error.message, exitCodes.usage);
  if (error instanceof Failure) return tell(error.message, exitCodes[error.reason]);
  if (error instanceof ApiError || error instanceof ConnectionError) return tell(error.message, exitCodes.unexpected);
  return tell(error instanceof Error ? (error.stack ?? error.message) : String(error), exitCodes.unexpected);
}

function tell(message: string, code: number): number {
  process.stderr.write(`capstan: ${message}\n`);
  return code;
}

const dataDirectoryOption = (): Option => new Option('-d, --data-dir <dir>', `where everything is kept (default: ${defaultDataDirectory})`);
const portOption = (): Option => new Option('-p, --port <number>', `port to serve on (default: ${defaultPort})`).argParser(parsePort);
const hostOption = (): Option => new Option('--host <address>', 'address to serve on (default: 127.0.0.1)');
const advertiseOption = (): Option =>
  new Option(
    '--advertise <host[:port]>',
    'where clients reach the server, when that is not --host: a load balancer or a DNS name',
  ).argParser(parseAdvertiseFlag);
const workspaceOption = (): Option => new Option('-w, --workspace <path>', 'only this workspace, of the server that the kubeconfig names');
const snapshotConfigOption = (): Option =>
  new Option('-c, --config <file>', 'YAML file of the server, for its data directory and its etcd');
const passphraseOption = (): Option =>
  new Option('--passphrase-file <file>', 'the passphrase that encrypts the keys in pki/, which the snapshot holds then');
const withoutKeysOption = (): Option => new Option('--without-keys', 'leave the keys in pki/ out').default(false);
const etcdOption = (): Option =>
  new Option('--etcd-endpoints <urls>', 'keep objects in this etcd instead of SQLite; several URLs are separated by commas').argParser(
    parseEndpoints,
  );

const runtimeConfigOption = (): Option =>
  new Option(
    '--runtime-config <versions>',
    'serve what is served on request only: admissionregistration.k8s.io/v1beta1=true for mutating admission policies',
  ).argParser(parseRuntimeConfig);

function createProgram(): Command {
  const program = new Command('capstan')
    .description('A GPU cloud that anyone can run, behind one Kubernetes-compatible API.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'capstan: ')) })
    .showHelpAfterError('Run with --help to see what can be given.')
    .version(versionText(), '-V, --version', 'print the versions of Capstan and of what it runs on')
    .exitOverride()
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'start everything, data in ./capstan-data'],
        ['export KUBECONFIG=capstan-data/admin.kubeconfig', ''],
        ['kubectl get namespaces', 'use it like any Kubernetes'],
        ['capstan <command> --help', 'more about one command'],
      ),
    );
  program
    .command('up')
    .description('Start everything in one go and keep it running until Ctrl-C.')
    .addOption(new Option('-c, --config <file>', 'YAML file with a section for each process; flags win over it'))
    .addOption(dataDirectoryOption())
    .addOption(hostOption())
    .addOption(portOption())
    .addOption(advertiseOption())
    .addOption(etcdOption())
    .addOption(runtimeConfigOption())
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'data in ./capstan-data, port 6443, for this machine alone'],
        ['capstan up --host 0.0.0.0', 'for others too, at the address of this machine'],
        ['capstan up --host 0.0.0.0 --advertise api.example.com', 'the same, at a name'],
        ['capstan up --etcd-endpoints http://127.0.0.1:2379', 'objects in etcd'],
        ['capstan up --config capstan.yaml', ''],
      ) +
        settingsHelp(
          ['dataDirectory: /var/lib/capstan', ''],
          ['apiserver:', 'settings of "capstan apiserver"'],
          ['  listen: { host: 0.0.0.0, port: 6443 }', ''],
          ['  advertise: api.example.com', ''],
          ['controllerManager:', 'settings of "capstan controller-manager"'],
          ['  concurrency: { namespace: 8 }', ''],
        ),
    )
    .action(async (flags: UpFlags) => {
      process.exitCode = await (await import('./commands/up.ts')).up(flags);
    });
  program
    .command('apiserver')
    .description('Run the API server alone, on SQLite or on etcd.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags win over it'))
    .addOption(dataDirectoryOption())
    .addOption(hostOption())
    .addOption(portOption())
    .addOption(advertiseOption())
    .addOption(etcdOption())
    .addOption(runtimeConfigOption())
    .addHelpText(
      'after',
      examples(
        ['capstan apiserver --data-dir ./data', 'objects in SQLite'],
        ['capstan apiserver --etcd-endpoints http://127.0.0.1:2379', 'objects in etcd; start as many as you like'],
        ['capstan apiserver --config capstan.yaml', 'the section "apiserver" of the file'],
      ),
    )
    .action(async (flags: ApiServerFlags) => (await import('./commands/apiserver.ts')).apiserver(flags));
  addControllerManager(program);
  addWorkspaces(program);
  addBindings(program);
  addSnapshot(program);
  program
    .command('version')
    .description('Print the versions of Capstan and of what it runs on.')
    .action(() => void process.stdout.write(`${versionText()}\n`));
  return program;
}

function addControllerManager(program: Command): void {
  program
    .command('controller-manager')
    .description('Run the controllers alone: they keep the objects of an API server in order.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags win over it'))
    .addOption(new Option('-k, --kubeconfig <file>', 'how to reach the API server').conflicts('dataDir'))
    .addOption(
      new Option(
        '-d, --data-dir <dir>',
        `take controller-manager.kubeconfig and the signer that the API server made here (default: ${defaultDataDirectory})`,
      ),
    )
    .addOption(
      new Option('-p, --port <number>', `port of /livez, /readyz and /metrics, 0 for any (default: ${defaultHealthPort})`).argParser(
        parseHealthPort,
      ),
    )
    .addOption(new Option('--no-leader-elect', 'work at once; only where no second one can run'))
    .addHelpText(
      'after',
      examples(
        ['capstan controller-manager --data-dir ./data', 'beside an API server on this machine'],
        ['capstan controller-manager --kubeconfig manager.kubeconfig', 'beside any; of several, one works'],
        ['capstan controller-manager --config capstan.yaml', 'the section "controllerManager" of the file'],
      ) +
        settingsHelp(
          ['kubeconfigFile: manager.kubeconfig', ''],
          ['listen: { host: 127.0.0.1, port: 10257 }', '/livez, /readyz and /metrics'],
          ['leaderElection: { leaseSeconds: 15 }', 'or enabled: false, where no second one can run'],
          ['controllers: ["*", "-garbage-collector"]', 'all but one; without a star, only those that are named'],
          ['concurrency: { namespace: 8 }', 'how many objects at the same time'],
          ['signing: { certificateFile: s.crt, keyFile: s.key }', 'what certificates are signed with'],
        ),
    )
    .action(async (flags: ControllerManagerFlags) => (await import('./commands/controller-manager.ts')).controllerManager(flags));
}

function addSnapshot(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description('Save all objects to a file, or start again from such a file.')
    .addHelpText(
      'after',
      examples(
        ['capstan snapshot save backup.ndjson --passphrase-file secret', 'all objects, and the keys in pki/, encrypted'],
        ['capstan snapshot restore backup.ndjson --passphrase-file secret --data-dir ./restored', 'into a directory without a store'],
        ['capstan snapshot save backup.ndjson --without-keys', 'objects alone'],
        ['capstan snapshot save web.ndjson --workspace root:acme:web', 'one workspace of a running server'],
        ['capstan snapshot restore web.ndjson --workspace root:other:web', 'into the same or another one'],
      ),
    );
  snapshot
    .command('save <file>')
    .description('Write a consistent copy of all objects and keys, or of one workspace, to a new file.')
    .addOption(snapshotConfigOption())
    .addOption(dataDirectoryOption())
    .addOption(etcdOption())
    .addOption(passphraseOption())
    .addOption(withoutKeysOption())
    .option('-f, --force', 'overwrite the file when it is there')
    .addOption(workspaceOption())
    .addOption(kubeconfigOption())
    .action(async (file: string, flags: SnapshotFlags & Partial<WorkspaceSnapshotFlags>) =>
      flags.workspace === undefined
        ? (await import('./commands/snapshot.ts')).save(file, flags)
        : (await import('./commands/workspace-snapshot.ts')).saveWorkspace(file, { ...flags, workspace: flags.workspace }),
    );
  snapshot
    .command('restore <file>')
    .description('Make a new store from a saved file while no server runs, or fill one workspace of a server that does.')
    .addOption(snapshotConfigOption())
    .addOption(dataDirectoryOption())
    .addOption(etcdOption())
    .addOption(passphraseOption())
    .addOption(withoutKeysOption())
    .addOption(workspaceOption())
    .option('--rebind', 'for a workspace: give objects of bound APIs to the exports of the same path and name that are here')
    .addOption(kubeconfigOption())
    .action(async (file: string, flags: SnapshotFlags & Partial<WorkspaceSnapshotFlags>) =>
      flags.workspace === undefined
        ? (await import('./commands/snapshot.ts')).restore(file, flags)
        : (await import('./commands/workspace-snapshot.ts')).restoreWorkspace(file, { ...flags, workspace: flags.workspace }),
    );
}

function settingsHelp(...lines: readonly HelpLine[]): string {
  return commented('In the file', lines);
}
