import { type Command, Option } from 'commander';
import type { OutputFlags } from './commands/offering.ts';
import { examples } from './help.ts';
import { outputFormats } from './output-format.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';
import type { CreateUserFlags } from './users/create.ts';
import type { GrantFlags, RevokeFlags } from './users/members.ts';

const roleOption = (what: string): Option =>
  new Option('--role <role>', `${what}: cluster-admin, service-provider, user, viewer or a ClusterRole of the workspace`);
const groupOption = (): Option => new Option('--group', 'the name is that of a group');

function addCommand(to: Command, name: string, description: string): Command {
  return to.command(name).description(description).addOption(kubeconfigOption()).addOption(contextOption());
}

/** `capstan user`: who may use the platform, and what they may do in a workspace. */
export function addUsers(program: Command): void {
  const user = program
    .command('user')
    .description('Give people access, and say what they may do in a workspace.')
    .addHelpText(
      'after',
      examples(
        ['capstan user create ada', 'ada.kubeconfig begins in a home of their own'],
        ['capstan user create ada --workspace root:acme', 'begins in root:acme, where ada gets the role "user"'],
        ['capstan user create bob --owner', 'another owner of the platform'],
        ['capstan user list', 'who has which role in the current workspace'],
        ['capstan user grant ada --role viewer', ''],
        ['capstan user revoke ada', ''],
      ),
    );
  addCommand(user, 'create <name>', 'Make a certificate for somebody, and a kubeconfig with it. For owners of the platform.')
    .addOption(new Option('-w, --workspace <path>', 'give them a role there, and begin there (default: a home of their own)'))
    .addOption(roleOption('the role in that workspace').default('user'))
    .addOption(new Option('--group <group...>', 'also a member of this group; may be repeated'))
    .addOption(new Option('--owner', 'an owner of the platform, who may do everything'))
    .addOption(new Option('--expires-in <time>', 'how long the certificate is good, such as 12h or 90d').default('30d'))
    .addOption(new Option('--server <url>', 'where they reach the server (default: the address in your kubeconfig)'))
    .addOption(new Option('--file <file>', 'where to write it (default: <name>.kubeconfig)'))
    .action(async (name: string, flags: CreateUserFlags) => (await import('./users/create.ts')).createUser(name, flags));
  addCommand(user, 'list', 'List who has which role in the current workspace.')
    .addOption(new Option('-o, --output <format>', 'how to print it (default: a table)').choices([...outputFormats]))
    .action(async (flags: OutputFlags) => (await import('./users/members.ts')).listUsers(flags));
  addCommand(user, 'grant <name>', 'Give somebody a role in the current workspace.')
    .addOption(roleOption('the role').default('user'))
    .addOption(groupOption())
    .action(async (name: string, flags: GrantFlags) => (await import('./users/members.ts')).grantRole(name, flags));
  addCommand(user, 'revoke <name>', 'Take a role from somebody in the current workspace.')
    .addOption(roleOption('only this role (default: all)'))
    .addOption(groupOption())
    .action(async (name: string, flags: RevokeFlags) => (await import('./users/members.ts')).revokeRole(name, flags));
}
