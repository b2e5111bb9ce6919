import { type Command, InvalidArgumentError, Option } from 'commander';
import type { EnrollFlags } from './commands/node.ts';
import type { NodeAgentFlags } from './commands/node-agent.ts';
import type { NodeArchiveFlags } from './commands/node-archive.ts';
import type { InventoryFlags } from './commands/node-inventory.ts';
import type { LostFlags } from './commands/node-lost.ts';
import type { NodeTopFlags } from './commands/node-top.ts';
import type { UpgradeFlags } from './commands/node-upgrade.ts';
import { defaultDataDirectory } from './commands/options.ts';
import { examples } from './help.ts';
import { logFormats } from './log.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';
import { dataDirectoryOption } from './program-processes.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

const defaultStateDirectory = '/var/lib/capstan-node-agent';

function minutes(value: string): number {
  if (!/^[1-9]\d{0,5}$/.test(value)) throw new InvalidArgumentError('expected a whole number of minutes, from 1 to 999999.');
  return Number(value);
}

function seconds(value: string): number {
  if (!/^[1-9]\d{0,3}$/.test(value)) throw new InvalidArgumentError('expected a whole number of seconds, from 1 to 9999.');
  return Number(value);
}

function hours(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('expected a whole number of hours, from 1 to 99999.');
  return Number(value);
}

const outputOption = (): Option => new Option('-o, --output <format>', 'another format than the table').choices([...outputFormats]);
const minutesOption = (): Option => new Option('--minutes <number>', 'how long the command can be used').argParser(minutes).default(30);

const installedOption = (): Option => new Option('--installed', 'for a machine that has the command capstan');

/** `capstan node` and `capstan node-agent`: the machines of the fleet. */
export function addNodes(program: Command): void {
  const node = program
    .command('node')
    .description('Enrol, list and remove the machines of the fleet.')
    .addHelpText(
      'after',
      examples(
        ['capstan node enroll gpu-1', 'print the command to run on the machine'],
        ['capstan node list', 'with the GPUs of each'],
        ['capstan node show gpu-1', 'every GPU, its health and the reason'],
        ['capstan node top --watch', 'what the GPUs do'],
        ['capstan node forget-gpu gpu-1 --missing', 'after a GPU was replaced'],
        ['capstan node clean gpu-1', 'try again to remove what a former allocation left'],
        ['capstan node upgrade --all --wait', 'to the version of the control plane'],
        ['capstan node remove gpu-1', ''],
      ),
    );
  const command = (name: string, description: string): Command =>
    node.command(name).description(description).addOption(kubeconfigOption()).addOption(contextOption());
  command('enroll <name>', 'Print the command that makes a machine a node. It works once, and needs only curl.')
    .addOption(minutesOption())
    .addOption(installedOption())
    .action(async (name: string, flags: EnrollFlags) => (await import('./commands/node.ts')).enrollNode(name, flags));
  command('list', 'List the nodes, their GPUs, and whether their agents are alive.')
    .addOption(outputOption())
    .addOption(new Option('-w, --watch', 'go on and print changes'))
    .action(async (flags: InventoryFlags) => (await import('./commands/node-inventory.ts')).listNodes(flags));
  command('show <name>', 'Show a node and its GPUs.')
    .addOption(outputOption())
    .action(async (name: string, flags: InventoryFlags) => (await import('./commands/node-inventory.ts')).showNode(name, flags));
  command('top [name]', 'Show the utilization, memory, temperature and power of the GPUs of a node, or of all.')
    .addOption(new Option('-w, --watch', 'go on, and show new numbers'))
    .addOption(new Option('-o, --output <format>', 'another format than the table').choices(['json', 'yaml']).conflicts('watch'))
    .action(async (name: string | undefined, flags: NodeTopFlags) => (await import('./commands/node-top.ts')).topNodes(name, flags));
  command('remove <name>', 'Remove a node. Its agent loses all connections and is never accepted again.').action(
    async (name: string, flags: ConnectionFlags) => (await import('./commands/node.ts')).removeNode(name, flags),
  );
  command('unlock <name>', 'Print the command that enrols a locked node again, for the machine that is the right one.')
    .addOption(minutesOption())
    .addOption(installedOption())
    .action(async (name: string, flags: EnrollFlags) => (await import('./commands/node.ts')).unlockNode(name, flags));
  addArchive(node);
  addUpgrade(command);
  addStates(command);
  addGpus(command);
  addCleaning(command);
  addLost(command);
  addAgent(program);
}

function addArchive(node: Command): void {
  node
    .command('archive')
    .description(
      'Build the archive from which machines install the agent. A running API server on the same data directory serves it at once.',
    )
    .addOption(new Option('--arch <architecture>', 'of the machines (default: that of this one)').choices(['x64', 'arm64']))
    .addOption(dataDirectoryOption().default(defaultDataDirectory))
    .addOption(new Option('--build <text>', 'the build in the version, instead of a hash of the contents').argParser(buildName).hideHelp())
    .addHelpText('after', examples(['capstan node archive --arch arm64', 'fetches Node for arm64 with npm, and verifies it']))
    .action(async (flags: NodeArchiveFlags) => (await import('./commands/node-archive.ts')).nodeArchive(flags));
}

function buildName(value: string): string {
  if (!/^[0-9a-zA-Z.-]{1,40}$/.test(value)) throw new InvalidArgumentError('expected letters, digits, dots and hyphens.');
  return value;
}

function addUpgrade(command: (name: string, description: string) => Command): void {
  command('upgrade [name]', 'Upgrade the agent of a node to the version of the control plane. Everything that runs on the node goes on.')
    .addOption(new Option('--all', 'of all nodes'))
    .addOption(new Option('--automatic', 'from now on, whenever the control plane has a newer version').conflicts('manual'))
    .addOption(new Option('--manual', 'from now on, only with this command'))
    .addOption(new Option('--wait', 'until the agents have the version, or have given up').conflicts('manual'))
    .action(async (name: string | undefined, flags: UpgradeFlags) =>
      (await import('./commands/node-upgrade.ts')).upgradeNodes(name, flags),
    );
}

function addStates(command: (name: string, description: string) => Command): void {
  command('cordon <name>', 'Give a node no new allocations.').action(async (name: string, flags: ConnectionFlags) =>
    (await import('./commands/node-state.ts')).cordonNode(name, flags),
  );
  command('uncordon <name>', 'Let a node get allocations again, and end its maintenance.').action(
    async (name: string, flags: ConnectionFlags) => (await import('./commands/node-state.ts')).uncordonNode(name, flags),
  );
  command('drain <name>', 'Cordon a node, and print the allocations that it still has. They end only when their owners delete them.')
    .addOption(new Option('--wait', 'wait until there are none'))
    .action(async (name: string, flags: ConnectionFlags & { wait?: boolean }) =>
      (await import('./commands/node-state.ts')).drainNode(name, flags),
    );
  command('maintenance <name>', 'Say that people work on a node. It gets no new allocations.')
    .addOption(new Option('--off', 'the work is done'))
    .action(async (name: string, flags: ConnectionFlags & { off?: boolean }) =>
      (await import('./commands/node-state.ts')).maintainNode(name, flags),
    );
}

function addGpus(command: (name: string, description: string) => Command): void {
  command(
    'expect-gpus <name> [uuid...]',
    'Say which GPUs a machine should have, by default those that it has now. Others are then missing.',
  )
    .addOption(new Option('--off', 'expect none in particular'))
    .action(async (name: string, uuids: readonly string[], flags: ConnectionFlags & { off?: boolean }) =>
      (await import('./commands/node-gpus.ts')).expectGpus(name, uuids, flags),
    );
  command('forget-gpu <name> [uuid...]', 'Forget GPUs that were taken out of a machine for good.')
    .addOption(new Option('--missing', 'all that are missing'))
    .action(async (name: string, uuids: readonly string[], flags: ConnectionFlags & { missing?: boolean }) =>
      (await import('./commands/node-gpus.ts')).forgetGpus(name, uuids, flags),
    );
  command('clear-gpu <name> <uuid...>', 'Declare GPUs well that were condemned for their errors.').action(
    async (name: string, uuids: readonly string[], flags: ConnectionFlags) =>
      (await import('./commands/node-gpus.ts')).clearGpus(name, uuids, flags),
  );
}

function addCleaning(command: (name: string, description: string) => Command): void {
  command('clean <name>', 'Clean a node again on which something of a former allocation remains.')
    .addOption(new Option('--force', 'declare that nothing remains, also if the node is silent: its devices are given to others'))
    .action(async (name: string, flags: ConnectionFlags & { force?: boolean }) =>
      (await import('./commands/node-clean.ts')).cleanNode(name, flags),
    );
}

function addLost(command: (name: string, description: string) => Command): void {
  command('lost <name>', 'Declare that nothing runs on a silent node any more, so that its units are started elsewhere.')
    .addOption(new Option('--confirm <name>', 'the name of the node again: its machine is switched off'))
    .addOption(new Option('--off', 'the node is back').conflicts('confirm'))
    .action(async (name: string, flags: LostFlags) => (await import('./commands/node-lost.ts')).loseNode(name, flags));
}

function addAgent(program: Command): void {
  program
    .command('node-agent')
    .description('Run the agent of this machine. It only connects to API servers, and listens nowhere.')
    .addOption(new Option('--server <url>', 'an API server, or a load balancer in front of all'))
    .addOption(new Option('--token <token>', 'the token of "capstan node enroll" (default: $CAPSTAN_NODE_TOKEN)'))
    .addOption(new Option('--ca-hash <sha256>', "SHA-256 of the certificate of the servers' authority"))
    .addOption(
      new Option('--kubeconfig <file>', 'make this machine a node with the rights of this kubeconfig, if it is none yet').conflicts(
        'token',
      ),
    )
    .addOption(new Option('--name <node>', 'name of the node, with --kubeconfig (default: the host name)'))
    .addOption(new Option('--state-dir <dir>', 'directory for the identity of this machine').default(defaultStateDirectory))
    .addOption(
      new Option('--gpus <file>', 'a file that declares GPUs, for a machine without any (default: gpus.yaml in the state directory)'),
    )
    .addOption(
      new Option(
        '--process-driver <name>',
        'who runs tasks: systemd, or the agent itself (default: systemd where it is the first process)',
      ).choices(['auto', 'systemd', 'supervisor']),
    )
    .addOption(new Option('--enroll-only', 'end when this machine is a node'))
    .addOption(
      new Option('--heartbeat-seconds <number>', 'how often the agent shows that it is alive')
        .argParser(seconds)
        .env('CAPSTAN_NODE_HEARTBEAT_SECONDS')
        .default(10),
    )
    .addOption(
      new Option('--task-output-hours <number>', 'how long the output of a task stays on this machine after its end')
        .argParser(hours)
        .env('CAPSTAN_NODE_TASK_OUTPUT_HOURS')
        .default(168),
    )
    .addOption(new Option('--self-check', 'end when a server has accepted this machine').hideHelp())
    .addOption(
      new Option('--shared-directory <name=path>', 'a directory that is the same on several nodes: a class of storages (may be repeated)')
        .argParser((value: string, before: readonly string[] | undefined) => [...(before ?? []), ...value.split(',')])
        .env('CAPSTAN_NODE_SHARED_DIRECTORIES'),
    )
    .addOption(new Option('--allow-unisolated', 'run units also if this machine cannot separate them from each other and from itself'))
    .addOption(
      new Option('--container-engine <engine>', 'who runs units with an image (default: Podman where it is installed, else Docker)')
        .choices(['podman', 'docker'])
        .env('CAPSTAN_NODE_CONTAINER_ENGINE'),
    )
    .addOption(
      new Option('--unit-disk <size>', 'how much of the disk a unit may use for its uploads, and for the files of its container')
        .default('20Gi')
        .env('CAPSTAN_NODE_UNIT_DISK'),
    )
    .addOption(new Option('--echo', 'answer requests to the node with what they send, to test connections').hideHelp())
    .addOption(new Option('--log-format <format>', 'plain lines, or a JSON object per line (default: text)').choices([...logFormats]))
    .addHelpText(
      'after',
      examples(
        ['capstan node-agent --server https://10.0.0.1:6443 --token T --ca-hash H', 'as "capstan node enroll --installed" prints it'],
        ['capstan node-agent', 'once the machine is a node'],
      ),
    )
    .action(async (flags: NodeAgentFlags) => (await import('./commands/node-agent.ts')).nodeAgent(flags));
}
