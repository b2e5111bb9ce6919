import { Command, CommanderError, Option } from 'commander';
import { type ApiServerFlags, defaultPort, parseAdvertiseFlag, parseEndpoints, parsePort } from './commands/options.ts';
import type { UpFlags } from './commands/processes.ts';
import { parseRuntimeConfig } from './commands/runtime-config.ts';
import type { SnapshotFlags } from './commands/snapshot.ts';
import { versionText } from './commands/version.ts';
import type { WorkspaceSnapshotFlags } from './commands/workspace-snapshot.ts';
import { exitCodes, Failure } from './failure.ts';
import { examples, settingsHelp } from './help.ts';
import { addAllocations } from './program-allocations.ts';
import { addApps } from './program-apps.ts';
import { addArtifacts } from './program-artifacts.ts';
import { addAudit } from './program-audit.ts';
import { addAuthority } from './program-authority.ts';
import { addBindings, kubeconfigOption } from './program-bindings.ts';
import { addConsole } from './program-console.ts';
import { addHelp } from './program-help.ts';
import { addKubelets } from './program-kubelets.ts';
import { addNodes } from './program-nodes.ts';
import { addConsoleServer, addControllers, addRuntimeApi, addStatus, dataDirectoryOption, logFormatOption } from './program-processes.ts';
import { addQuotas } from './program-quotas.ts';
import { addSession } from './program-session.ts';
import { addSsh } from './program-ssh.ts';
import { addTasks } from './program-tasks.ts';
import { addLifecycle, addReading, addRun, addStreams } from './program-units.ts';
import { addUsage } from './program-usage.ts';
import { addUsers } from './program-users.ts';
import { addVolumes } from './program-volumes.ts';
import { addWorkspaces } from './program-workspaces.ts';

/** Parses the command line and runs the command. Commands are loaded on demand: `capstan version` does not load a server. */
export async function runProgram(argv: readonly string[]): Promise<void> {
  // The reader of a pipe, such as `head`, has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  // As in `2>&1 | head`: nobody reads the message, and the exit code still counts.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  try {
    await createProgram(argv[2]).parseAsync(argv);
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

/** Errors whose messages are for people, by their names: their classes would load a third of the program for every command, and few commands fail. */
const expected: ReadonlyMap<string, keyof typeof exitCodes> = new Map([
  ['ConfigError', 'usage'],
  ['ApiError', 'unexpected'],
  ['ConnectionError', 'unexpected'],
]);

function report(error: unknown): number {
  if (error instanceof Failure) return tell(error.message, exitCodes[error.reason]);
  if (!(error instanceof Error)) return tell(String(error), exitCodes.unexpected);
  const reason = expected.get(error.name);
  return tell(reason === undefined ? (error.stack ?? error.message) : error.message, exitCodes[reason ?? 'unexpected']);
}

function tell(message: string, code: number): number {
  process.stderr.write(`capstan: ${message}\n`);
  return code;
}

const portOption = (more = ''): Option =>
  new Option('-p, --port <number>', `port to listen on (default: ${defaultPort})${more}`).argParser(parsePort);
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

/** Commands that are added together, and the names of those that need no others. A test compares them. */
interface Part {
  readonly names: readonly string[];
  readonly add: (program: Command) => void;
}

interface Group {
  readonly heading: string;
  readonly parts: readonly Part[];
}

export const groups: readonly Group[] = [
  {
    heading: 'Programs on the fleet:',
    parts: [
      { names: ['run'], add: addRun },
      { names: ['ps', 'top', 'logs', 'events', 'wait'], add: addReading },
      { names: ['shell', 'attach', 'cp', 'port-forward'], add: addStreams },
      { names: ['stop', 'start', 'rm'], add: addLifecycle },
      { names: ['ssh'], add: addSsh },
      { names: ['volume'], add: addVolumes },
      { names: ['app'], add: addApps },
    ],
  },
  {
    heading: 'Servers:',
    parts: [
      { names: ['up', 'apiserver'], add: addServers },
      { names: ['controller-manager', 'platform-controllers'], add: addControllers },
      { names: ['runtime-api'], add: addRuntimeApi },
      { names: ['console-server'], add: addConsoleServer },
      { names: ['status'], add: addStatus },
      { names: ['audit'], add: addAudit },
      { names: ['usage'], add: addUsage },
      { names: ['authority'], add: addAuthority },
      { names: ['snapshot'], add: addSnapshot },
    ],
  },
  {
    heading: 'Workspaces and users:',
    parts: [
      { names: ['login', 'logout', 'whoami', 'context'], add: addSession },
      { names: ['user'], add: addUsers },
      { names: ['console'], add: addConsole },
      { names: ['ws'], add: addWorkspaces },
      { names: ['bind', 'claims'], add: addBindings },
    ],
  },
  {
    heading: 'The fleet:',
    parts: [
      { names: ['node', 'node-agent'], add: addNodes },
      { names: ['offering', 'stock', 'allocation'], add: addAllocations },
      { names: ['quota', 'reservation'], add: addQuotas },
      { names: ['task'], add: addTasks },
      { names: ['artifact'], add: addArtifacts },
      { names: ['kubelet-token'], add: addKubelets },
    ],
  },
  {
    heading: 'Commands:',
    parts: [
      // `completion` describes all commands.
      { names: [], add: addHelp },
      { names: ['version'], add: addVersion },
    ],
  },
];

/** All commands, or only those that are added together with the named one, which takes a fraction of the time. */
export function createProgram(name?: string): Command {
  const program = new Command('capstan')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'capstan: ')) })
    .showHelpAfterError('Run with --help for usage.')
    .exitOverride()
    .enablePositionalOptions();
  const part = groups.flatMap(({ parts }) => parts).find(({ names }) => name !== undefined && names.includes(name));
  if (part !== undefined) {
    part.add(program);
    return program;
  }
  for (const { heading, parts } of groups) {
    program.commandsGroup(heading);
    for (const { add } of parts) add(program);
  }
  return program
    .description('A GPU cloud that anyone can run, behind one Kubernetes-compatible API.')
    .version(versionText(), '-V, --version', 'print the versions of Capstan, its Kubernetes API, Node and SQLite')
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'start everything, with data in ./capstan-data'],
        ['export KUBECONFIG=capstan-data/admin.kubeconfig', ''],
        ['capstan run -- python3 train.py', 'run a program on the fleet, with the files of this folder'],
        ['kubectl get namespaces', 'use it like any Kubernetes cluster'],
        ['capstan <command> --help', 'show the options and examples of a command'],
      ),
    );
}

function addServers(program: Command): void {
  program
    .command('up')
    .description('Start everything in one command, and keep it running until Ctrl-C.')
    .addOption(new Option('-c, --config <file>', 'YAML file with a section for each process; flags override it'))
    .addOption(dataDirectoryOption())
    .addOption(hostOption())
    .addOption(portOption('; the REST API and the console use the two above it'))
    .addOption(advertiseOption())
    .addOption(etcdOption())
    .addOption(runtimeConfigOption())
    .addOption(new Option('--no-node', 'do not make this machine a node of the fleet'))
    .addOption(new Option('--no-console', 'do not start the console for browsers'))
    .addOption(new Option('--gpus <file>', 'a file that declares GPUs of this machine, instead of looking for real ones'))
    .addOption(logFormatOption())
    .addHelpText(
      'after',
      examples(
        ['capstan up', 'data in ./capstan-data, port 6443, reachable from this machine only'],
        ['capstan up --host 0.0.0.0', 'reachable from other machines, at the address of this one'],
        ['capstan up --host 0.0.0.0 --advertise api.example.com', 'the same, at a DNS name'],
        ['capstan up --etcd-endpoints http://127.0.0.1:2379', 'store objects in etcd; no machine is a node until you enrol it'],
        ['capstan up --gpus gpus.yaml', 'with pretended GPUs, to try the fleet on a laptop'],
        ['capstan up --config capstan.yaml', ''],
      ) +
        settingsHelp(
          ['dataDirectory: /var/lib/capstan', ''],
          ['apiserver:', 'settings of "capstan apiserver"'],
          ['  listen: { host: 0.0.0.0, port: 6443 }', ''],
          ['  advertise: api.example.com', ''],
          ['controllerManager:', 'settings of "capstan controller-manager"'],
          ['  concurrency: { namespace: 8 }', ''],
          ['platformControllers: {}', 'settings of "capstan platform-controllers"'],
          ['runtimeApi: {}', 'settings of "capstan runtime-api"'],
          ['console: {}', 'settings of "capstan console-server"'],
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
}

function addVersion(program: Command): void {
  program
    .command('version')
    .description('Print the versions of Capstan, its Kubernetes API, Node and SQLite.')
    .action(() => void process.stdout.write(`${versionText()}\n`));
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
