import { type Command, Option } from 'commander';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';
import type { ContextFlags } from './session/context.ts';
import type { LoginFlags } from './session/login.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

/** `capstan login`, `logout`, `whoami` and `context`: servers, and who one is there. */
export function addSession(program: Command): void {
  program
    .command('login <server>')
    .description('Add a server and your credentials to the kubeconfig.')
    .addOption(new Option('--token-stdin', 'read a token from the input'))
    .addOption(new Option('--token <token>', 'a token (default: $CAPSTAN_TOKEN); other users of this machine can see it'))
    .addOption(new Option('--issuer <url>', 'sign in at this OpenID Connect issuer, on any device with a browser'))
    .addOption(new Option('--client-id <id>', 'name of this application at the issuer'))
    .addOption(new Option('--client-secret <secret>', 'its secret, if it has one'))
    .addOption(new Option('--certificate-authority <file>', "authority of the server's certificate (default: those of the system)"))
    .addOption(new Option('--insecure-skip-tls-verify', 'accept any certificate').conflicts('certificateAuthority'))
    .addOption(
      new Option(
        '-w, --workspace <path>',
        'the workspace to begin in (default: root for owners of the platform, and a home of their own for others)',
      ),
    )
    .addOption(new Option('--name <context>', 'name of the context (default: the host of the server)'))
    .addOption(kubeconfigOption())
    .addHelpText(
      'after',
      examples(
        ['capstan login https://capstan.example.com:6443 --token-stdin < token', ''],
        ['capstan login https://10.0.0.1:6443 --certificate-authority ca.crt --token-stdin < token', 'ca.crt is pki/ca.crt of the server'],
        ['capstan login https://capstan.example.com --issuer https://accounts.example.com --client-id capstan', ''],
      ),
    )
    .action(async (server: string, flags: LoginFlags) => (await import('./session/login.ts')).login(server, flags));
  program
    .command('logout')
    .description('Remove the token of the current context from the kubeconfig.')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action(async (flags: ConnectionFlags) => (await import('./session/login.ts')).logout(flags));
  program
    .command('whoami')
    .description('Print your name, as the server knows it.')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action(async (flags: ConnectionFlags) => (await import('./session/login.ts')).whoAmI(flags));
  addContexts(program);
}

function addContexts(program: Command): void {
  const context = program.command('context').description('List the contexts of the kubeconfig, switch between them, and delete them.');
  context
    .command('list', { isDefault: true })
    .description('List the contexts.')
    .addOption(new Option('-o, --output <format>', 'how to print it (default: a table)').choices(['json', 'name']))
    .addOption(kubeconfigOption())
    .action(async (flags: ContextFlags) => (await import('./session/context.ts')).listContexts(flags));
  context
    .command('use <context>')
    .description('Make a context the current one.')
    .addOption(kubeconfigOption())
    .action(async (name: string, flags: ConnectionFlags) => (await import('./session/context.ts')).useContext(name, flags));
  context
    .command('delete <context>')
    .description('Delete a context, with its server and credentials if no other uses them.')
    .addOption(kubeconfigOption())
    .action(async (name: string, flags: ConnectionFlags) => (await import('./session/context.ts')).deleteContext(name, flags));
}
