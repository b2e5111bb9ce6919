import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CreateFlags, DeleteFlags } from './commands/ws.ts';
import { examples } from './help.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

const kubeconfigOption = (): Option =>
  new Option('-k, --kubeconfig <file>', 'the kubeconfig to use and update (default: $KUBECONFIG, then ~/.kube/config)');
const timeoutOption = (): Option =>
  new Option('--timeout <seconds>', 'how long to wait for completion').argParser((value: string) => {
    if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number of seconds.');
    return Number(value);
  });

/** `capstan ws`: navigate and change the tree of workspaces. */
export function addWorkspaces(program: Command): void {
  const ws = program
    .command('ws')
    .description('Navigate the tree of workspaces, create and delete workspaces. The kubeconfig remembers the current one.')
    .addHelpText(
      'after',
      examples(
        ['capstan ws use root:main', 'absolute path; `default`, `..` and `..:other` are relative'],
        ['capstan ws use ~', 'your home workspace, created on first use'],
        ['capstan ws use -', 'the previous workspace'],
        ['capstan ws create team-a --enter', 'a project'],
        ['capstan ws create vision --type team', ''],
        ['capstan ws tree root', ''],
      ),
    );
  ws.command('list [path]', { isDefault: true })
    .description('List the child workspaces of the current workspace, or of another one.')
    .addOption(kubeconfigOption())
    .action(async (path: string | undefined, flags: ConnectionFlags) => (await import('./commands/ws.ts')).list(path, flags));
  ws.command('tree [path]')
    .description('Show all workspaces below the current one, or below another one.')
    .addOption(kubeconfigOption())
    .action(async (path: string | undefined, flags: ConnectionFlags) => (await import('./commands/ws.ts')).tree(path, flags));
  ws.command('current')
    .description('Print the path of the current workspace.')
    .addOption(kubeconfigOption())
    .action(async (flags: ConnectionFlags) => (await import('./commands/ws.ts')).current(flags));
  ws.command('use <path>')
    .description('Switch to another workspace, by changing the kubeconfig.')
    .addOption(kubeconfigOption())
    .action(async (path: string, flags: ConnectionFlags) => (await import('./commands/ws.ts')).use(path, flags));
  ws.command('create <name>')
    .description('Create a workspace in the current one, and wait until it is ready.')
    .addOption(
      new Option(
        '-t, --type <type>',
        'workspace type, such as project or root:team (default: project in an organization, a team or a project, else set by the type of the parent)',
      ),
    )
    .addOption(new Option('-e, --enter', 'switch to the new workspace'))
    .addOption(kubeconfigOption())
    .addOption(timeoutOption().default(60))
    .action(async (name: string, flags: CreateFlags) => (await import('./commands/ws.ts')).create(name, flags));
  ws.command('delete <name>')
    .description('Delete a workspace and everything in and below it, and wait until it is deleted.')
    .addOption(kubeconfigOption())
    .addOption(timeoutOption().default(120))
    .action(async (name: string, flags: DeleteFlags) => (await import('./commands/ws.ts')).remove(name, flags));
}
