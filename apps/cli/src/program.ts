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
import type { StatusFlags } from './commands/status.ts';
import type { UpFlags } from './commands/up.ts';
import { versionText } from './commands/version.ts';
import type { WorkspaceSnapshotFlags } from './commands/workspace-snapshot.ts';
import { ConfigError } from './config/document.ts';
import { exitCodes, Failure } from './failure.ts';
import { commented, examples, type HelpLine } from './help.ts';
import { logFormats } from './log.ts';
import { addBindings, kubeconfigOption } from './program-bindings.ts';
import { addKubelets } from './program-kubelets.ts';
import { addWorkspaces } from './program-workspaces.ts';

/** Parses the command line and runs the command. Commands are loaded on demand: `capstan version` does not load a server. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(argv);
  } catch (error) {
    // Commander has already printed the error, or the requested help.
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage;
      return;
    }
    process.exitCode = report(error);
    // Open handles of a failed start (a pending connection, a thread that is ending) must not keep the process alive.
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

const dataDirectoryOption = (): Option => new Option('-d, --data-dir <dir>', `directory for all data (default: ${defaultDataDirectory})`);
const logFormatOption = (): Option =>
  new Option('--log-format <format>', 'plain lines, or a JSON object per line (default: text)').choices([...logFormats]);
const portOption = (): Option => new Option('-p, --port <number>', `port to listen on (default: ${defaultPort})`).argParser(parsePort);
const hostOption = (): Option => new Option('--host <address>', 'address to listen on (default: 127.0.0.1)');
const advertiseOption = (): Option =>
  new Option(
    '--advertise <host[:port]>',
    'where clients reach the server if not at --host, such as a load balancer or a DNS name',
  ).argParser(parseAdvertiseFlag);
const workspaceOption = (): Option =>
  new Option('-w, --workspace <path>', 'only this workspace, on the running server that the kubeconfig names');
const snapshotConfigOption = (): Option =>
  new Option('-c, --config <file>', 'configuration file of the server, for its data directory and etcd');
const passphraseOption = (): Option =>
  new Option('--passphrase-file <file>', 'file with the passphrase that encrypts the keys in pki/ within the snapshot');
const withoutKeysOption = (): Option => new Option('--without-keys', 'leave out the keys in pki/').default(false);
const etcdOption = (): Option =>
  new Option('--etcd-endpoints <urls>', 'use this etcd instead of SQLite; comma-separated URLs').argParser(parseEndpoints);

const runtimeConfigOption = (): Option =>
  new Option(
    '--runtime-config <versions>',
    'enable API versions that are off by default, such as admissionregistration.k8s.io/v1beta1=true for mutating admission policies',
  ).argParser(parseRuntimeConfig);

function createProgram(): Command {
  const program = new Command('capstan')
    .description('A GPU cloud that anyone can run, behind one Kubernetes-compatible API.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'capstan: ')) })
    .showHelpAfterError('Run with --help for usage.')
    .version(versionText(), '-V, --version', 'print the versions of Capstan, its Kubernetes API, Node and SQLite')
    .exitOverride()
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'start everything, with data in ./capstan-data'],
        ['export KUBECONFIG=capstan-data/admin.kubeconfig', ''],
        ['kubectl get namespaces', 'use it like any Kubernetes cluster'],
        ['capstan <command> --help', 'show the options and examples of a command'],
      ),
    );
  program
    .command('up')
    .description('Start everything in one command, and keep it running until Ctrl-C.')
    .addOption(new Option('-c, --config <file>', 'YAML file with a section for each process; flags override it'))
    .addOption(dataDirectoryOption())
    .addOption(hostOption())
    .addOption(portOption())
    .addOption(advertiseOption())
    .addOption(etcdOption())
    .addOption(runtimeConfigOption())
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'data in ./capstan-data, port 6443, reachable from this machine only'],
        ['capstan up --host 0.0.0.0', 'reachable from other machines, at the address of this one'],
        ['capstan up --host 0.0.0.0 --advertise api.example.com', 'the same, at a DNS name'],
        ['capstan up --etcd-endpoints http://127.0.0.1:2379', 'store objects in etcd'],
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
    .description('Run only the API server, with SQLite or etcd.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags override it'))
    .addOption(dataDirectoryOption())
    .addOption(hostOption())
    .addOption(portOption())
    .addOption(advertiseOption())
    .addOption(etcdOption())
    .addOption(runtimeConfigOption())
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      examples(
        ['capstan apiserver --data-dir ./data', 'store objects in SQLite'],
        ['capstan apiserver --etcd-endpoints http://127.0.0.1:2379', 'store objects in etcd; run as many servers as you like'],
        ['capstan apiserver --config capstan.yaml', 'use the section "apiserver" of the file'],
      ),
    )
    .action(async (flags: ApiServerFlags) => (await import('./commands/apiserver.ts')).apiserver(flags));
  addControllerManager(program);
  addStatus(program);
  addWorkspaces(program);
  addBindings(program);
  addKubelets(program);
  addSnapshot(program);
  program
    .command('version')
    .description('Print the versions of Capstan, its Kubernetes API, Node and SQLite.')
    .action(() => void process.stdout.write(`${versionText()}\n`));
  return program;
}

function addStatus(program: Command): void {
  program
    .command('status')
    .description('Show the processes of a running "capstan up": health, restarts, memory and ports.')
    .addOption(new Option('-c, --config <file>', 'configuration file of the running "capstan up", for its data directory'))
    .addOption(dataDirectoryOption())
    .addOption(new Option('-o, --output <format>', 'print JSON instead of a table').choices(['json']))
    .addHelpText(
      'after',
      examples(
        ['capstan status', 'of the "capstan up" on ./capstan-data; works even if its API server is down'],
        ['capstan status --output json', 'for scripts; the exit code is 12 if nothing runs and 13 if a required process is not healthy'],
      ),
    )
    .action(async (flags: StatusFlags) => {
      process.exitCode = await (await import('./commands/status.ts')).status(flags);
    });
}

function addControllerManager(program: Command): void {
  program
    .command('controller-manager')
    .description('Run only the controllers, against any API server.')
    .addOption(new Option('-c, --config <file>', 'YAML file with all settings; flags override it'))
    .addOption(new Option('-k, --kubeconfig <file>', 'the API server to connect to').conflicts('dataDir'))
    .addOption(
      new Option(
        '-d, --data-dir <dir>',
        `use the controller-manager.kubeconfig and signer that the API server created here (default: ${defaultDataDirectory})`,
      ),
    )
    .addOption(
      new Option('-p, --port <number>', `port for /livez, /readyz and /metrics; 0 for any (default: ${defaultHealthPort})`).argParser(
        parseHealthPort,
      ),
    )
    .addOption(logFormatOption())
    .addOption(new Option('--no-leader-elect', 'start without leader election; only if no second instance can run'))
    .addHelpText(
      'after',
      examples(
        ['capstan controller-manager --data-dir ./data', 'with an API server on this machine'],
        ['capstan controller-manager --kubeconfig manager.kubeconfig', 'with any API server; one of several instances is active'],
        ['capstan controller-manager --config capstan.yaml', 'use the section "controllerManager" of the file'],
      ) +
        settingsHelp(
          ['kubeconfigFile: manager.kubeconfig', ''],
          ['listen: { host: 127.0.0.1, port: 10257 }', '/livez, /readyz and /metrics'],
          ['leaderElection: { leaseSeconds: 15 }', 'or enabled: false, if no second instance can run'],
          ['controllers: ["*", "-garbage-collector"]', 'all but one; without "*", only the listed ones'],
          ['concurrency: { namespace: 8 }', 'how many objects to process at a time'],
          ['signing: { certificateFile: s.crt, keyFile: s.key }', 'signs the certificates of CertificateSigningRequests'],
        ),
    )
    .action(async (flags: ControllerManagerFlags) => (await import('./commands/controller-manager.ts')).controllerManager(flags));
}

function addSnapshot(program: Command): void {
  const snapshot = program
    .command('snapshot')
    .description('Save all objects to a file, or restore them from one.')
    .addHelpText(
      'after',
      examples(
        ['capstan snapshot save backup.ndjson --passphrase-file secret', 'all objects, and the encrypted keys in pki/'],
        ['capstan snapshot restore backup.ndjson --passphrase-file secret --data-dir ./restored', 'into a directory without a store'],
        ['capstan snapshot save backup.ndjson --without-keys', 'objects alone'],
        ['capstan snapshot save web.ndjson --workspace root:acme:web', 'one workspace of a running server'],
        ['capstan snapshot restore web.ndjson --workspace root:other:web', 'into the same workspace or another one'],
      ),
    );
  snapshot
    .command('save <file>')
    .description('Save a consistent copy of all objects and keys, or of one workspace, to a new file.')
    .addOption(snapshotConfigOption())
    .addOption(dataDirectoryOption())
    .addOption(etcdOption())
    .addOption(passphraseOption())
    .addOption(withoutKeysOption())
    .option('-f, --force', 'overwrite an existing file')
    .addOption(workspaceOption())
    .addOption(kubeconfigOption())
    .action(async (file: string, flags: SnapshotFlags & Partial<WorkspaceSnapshotFlags>) =>
      flags.workspace === undefined
        ? (await import('./commands/snapshot.ts')).save(file, flags)
        : (await import('./commands/workspace-snapshot.ts')).saveWorkspace(file, { ...flags, workspace: flags.workspace }),
    );
  snapshot
    .command('restore <file>')
    .description('Create a new store from a snapshot while no server runs, or restore one workspace on a running server.')
    .addOption(snapshotConfigOption())
    .addOption(dataDirectoryOption())
    .addOption(etcdOption())
    .addOption(passphraseOption())
    .addOption(withoutKeysOption())
    .addOption(workspaceOption())
    .option('--rebind', 'with --workspace: give the objects of bound APIs to the exports on this server with the same path and name')
    .addOption(kubeconfigOption())
    .action(async (file: string, flags: SnapshotFlags & Partial<WorkspaceSnapshotFlags>) =>
      flags.workspace === undefined
        ? (await import('./commands/snapshot.ts')).restore(file, flags)
        : (await import('./commands/workspace-snapshot.ts')).restoreWorkspace(file, { ...flags, workspace: flags.workspace }),
    );
}

function settingsHelp(...lines: readonly HelpLine[]): string {
  return commented('Configuration file', lines);
}
