import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CreateFlags, DeleteFlags } from './commands/ws.ts';
import { examples } from './help.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

const kubeconfigOption = (): Option =>
  new Option('-k, --kubeconfig <file>', 'the kubeconfig to use and change (default: $KUBECONFIG, then ~/.kube/config)');
const timeoutOption = (): Option =>
  new Option('--timeout <seconds>', 'how long to wait until it is done').argParser((value: string) => {
    if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number of seconds.');
    return Number(value);
  });

/** `capstan ws`: walk through the tree of workspaces, and change it. */
export function addWorkspaces(program: Command): void {
  const ws = program
    .command('ws')
    .description('Walk through the tree of workspaces, and change it. The kubeconfig says where one is.')
    .addHelpText(
      'after',
      examples(
        ['capstan ws use root:main', 'from the top; `default`, `..`, `..:other` from here'],
        ['capstan ws use ~', 'your own workspace; made when you first ask for it'],
        ['capstan ws use -', 'where you were before'],
        ['capstan ws create team-a --type project --enter', ''],
        ['capstan ws tree root', ''],
      ),
    );
  ws.command('list [path]', { isDefault: true })
    .description('List the workspaces in this one, or in another.')
    .addOption(kubeconfigOption())
    .action(async (path: string | undefined, flags: ConnectionFlags) => (await import('./commands/ws.ts')).list(path, flags));
  ws.command('tree [path]')
    .description('Show the workspaces below this one, or below another.')
    .addOption(kubeconfigOption())
    .action(async (path: string | undefined, flags: ConnectionFlags) => (await import('./commands/ws.ts')).tree(path, flags));
  ws.command('current')
    .description('Print the path of the workspace that the kubeconfig points at.')
    .addOption(kubeconfigOption())
    .action(async (flags: ConnectionFlags) => (await import('./commands/ws.ts')).current(flags));
  ws.command('use <path>')
    .description('Point the kubeconfig at another workspace.')
    .addOption(kubeconfigOption())
    .action(async (path: string, flags: ConnectionFlags) => (await import('./commands/ws.ts')).use(path, flags));
  ws.command('create <name>')
    .description('Create a workspace in this one, and wait until it can be used.')
    .addOption(new Option('-t, --type <type>', 'a type such as project, or root:project; the usual one here when absent'))
    .addOption(new Option('-e, --enter', 'point the kubeconfig at it'))
    .addOption(kubeconfigOption())
    .addOption(timeoutOption().default(60))
    .action(async (name: string, flags: CreateFlags) => (await import('./commands/ws.ts')).create(name, flags));
  ws.command('delete <name>')
    .description('Delete a workspace with everything in it and below it, and wait until it is gone.')
    .addOption(kubeconfigOption())
    .addOption(timeoutOption().default(120))
    .action(async (name: string, flags: DeleteFlags) => (await import('./commands/ws.ts')).remove(name, flags));
}
