import { type Command, Option } from 'commander';
import type { ActFlags } from './apps/act.ts';
import type { AppFlags, AppOutputFlags } from './apps/apps.ts';
import type { DeployFlags } from './apps/deploy.ts';
import type { KubeconfigFlags } from './apps/kubeconfig.ts';
import type { LogFlags } from './apps/logs.ts';
import type { ShellFlags } from './apps/shell.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

const outputOption = (): Option => new Option('-o, --output <format>', 'another format than the table').choices([...outputFormats]);
const waitOption = (): Option => new Option('--wait', 'print the progress until it is done; the exit code is 1 if it failed');
const repeated = (flags: string, what: string): Option =>
  new Option(flags, `${what}; may be repeated`).argParser((value: string, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);

type Making = (name: string, description: string) => Command;

/** `capstan app`: distributed systems on allocations. */
export function addApps(program: Command): void {
  const app = program
    .command('app')
    .description('Deploy distributed systems, such as Slurm and Kubernetes clusters, on your allocations.')
    .addHelpText(
      'after',
      examples(
        ['capstan app catalog', ''],
        ['capstan app show slurm', 'what it needs, and what is promised'],
        ['capstan app deploy c1 --app slurm --placement controller_allocation_id=a --placement compute_allocation_ids=b,c --wait', ''],
        ['capstan app deploy c1 --app slurm -f c1.yaml --plan', 'print the steps, and do nothing'],
        ['capstan app status c1', 'members, problems and what can be done'],
        ['capstan app do c1 drain --member c1-b --wait', ''],
        ['capstan app kubeconfig k1 --merge && kubectl --context k1 get nodes', ''],
        ['capstan app rm c1 --wait', ''],
      ),
    );
  const command: Making = (name, description) =>
    app
      .command(name)
      .description(description)
      .addOption(new Option('-n, --namespace <name>', 'namespace of the instances (default: that of the kubeconfig)'))
      .addOption(kubeconfigOption())
      .addOption(contextOption());
  addReading(command);
  addChanging(command);
  addAccess(command);
}

function addReading(command: Making): void {
  command('catalog', 'List the apps that can be deployed.')
    .addOption(outputOption())
    .action(async (flags: AppOutputFlags) => (await import('./apps/catalog.ts')).listCatalog(flags));
  command('show <app>', 'Show an app of the catalog: versions, placement, parameters, operations and promises.')
    .addOption(outputOption())
    .action(async (name: string, flags: AppOutputFlags) => (await import('./apps/catalog.ts')).showApp(name, flags));
  command('list', 'List the instances of a namespace.')
    .addOption(outputOption())
    .action(async (flags: AppOutputFlags) => (await import('./apps/show.ts')).listInstances(flags));
  command('status <instance>', 'Show an instance: its members, its problems, and what can be done now.')
    .addOption(outputOption())
    .action(async (name: string, flags: AppOutputFlags) => (await import('./apps/show.ts')).showInstance(name, flags));
  command('members <instance>', 'List the members of an instance.')
    .addOption(outputOption())
    .action(async (name: string, flags: AppOutputFlags) => (await import('./apps/show.ts')).listMembers(name, flags));
  command('operations <instance>', 'List the operations of an instance, the oldest first.')
    .addOption(outputOption())
    .action(async (name: string, flags: AppOutputFlags) => (await import('./apps/show.ts')).listOperations(name, flags));
  command('logs <instance>', 'Print the steps of an operation and the end of their output, also of members that are gone.')
    .addOption(new Option('--operation <name>', 'another operation than the last one'))
    .addOption(new Option('--tail <lines>', 'how many lines of each step; 0 for none').default('10'))
    .addOption(new Option('-f, --follow', 'print output as it comes, until the operation has ended; the exit code is 1 if it failed'))
    .action(async (name: string, flags: LogFlags) => {
      process.exitCode = await (await import('./apps/logs.ts')).printLogs(name, flags);
    });
  command('events <instance>', 'List the events of an instance, its members and operations.')
    .addOption(outputOption())
    .action(async (name: string, flags: AppOutputFlags) => (await import('./apps/show.ts')).listAppEvents(name, flags));
}

function addChanging(command: Making): void {
  command('deploy <name>', 'Deploy an app, or change the placement and parameters of an instance.')
    .addOption(new Option('-a, --app <name>', 'app of the catalog'))
    .addOption(repeated('-p, --placement <key=value>', 'where members run; lists are separated by commas'))
    .addOption(repeated('-s, --set <key=value>', 'a parameter of the app'))
    .addOption(new Option('--app-version <version>', 'a version of the app (default: its default one)'))
    .addOption(new Option('-f, --file <file>', 'YAML of an AppInstance or of its spec; flags override it'))
    .addOption(new Option('--plan', 'print the steps, and do nothing').conflicts('wait'))
    .addOption(waitOption())
    .action(async (name: string, flags: DeployFlags) => {
      process.exitCode = await (await import('./apps/deploy.ts')).deployApp(name, flags);
    });
  command('do <instance> <action>', 'Do something with an instance or a member: retry, repair, stop, start, or an operation of the app.')
    .addOption(new Option('-m, --member <name>', 'the member to work on'))
    .addOption(repeated('-s, --set <key=value>', 'a parameter of the operation'))
    .addOption(waitOption())
    .action(async (name: string, action: string, flags: ActFlags) => {
      process.exitCode = await (await import('./apps/act.ts')).actOn(name, action, flags);
    });
  command('rm <instances...>', 'Remove instances from their nodes, and delete them.')
    .addOption(waitOption().default(false))
    .action(async (names: string[], flags: AppFlags & { wait: boolean }) => (await import('./apps/act.ts')).removeInstances(names, flags));
}

function addAccess(command: Making): void {
  command('kubeconfig <instance>', 'Print a kubeconfig for the Kubernetes cluster of an instance. It needs no route to the nodes.')
    .addOption(new Option('-f, --file <file>', 'write it to a file'))
    .addOption(new Option('--merge', 'add a context to the kubeconfig that is in use').conflicts('file'))
    .addOption(
      new Option(
        '--admin',
        'a certificate of the cluster itself, for a route to its nodes and without the platform; needs a permission of its own',
      ).conflicts('merge'),
    )
    .addOption(new Option('--expires-in <seconds>', 'with --admin: how long the certificate is valid (default: an hour)').argParser(Number))
    .action(async (name: string, flags: KubeconfigFlags) => (await import('./apps/kubeconfig.ts')).printKubeconfig(name, flags));
  command('shell <instance> [command...]', 'Open a shell on the login member of an instance, as your own account.')
    .passThroughOptions()
    .addOption(new Option('-t, --tty', 'give the command a terminal (default: for shells)'))
    .addOption(new Option('-T, --no-tty', 'no terminal'))
    .addHelpText(
      'after',
      examples(['capstan app shell c1', ''], ['capstan app shell c1 -- squeue', 'the exit code is that of the command']),
    )
    .action(async (name: string, words: string[], flags: ShellFlags) => {
      // Options after the instance belong to the command, so the parser leaves the mark in front of them.
      const command = words[0] === '--' ? words.slice(1) : words;
      process.exitCode = await (await import('./apps/shell.ts')).openAppShell(name, command, flags);
    });
}
