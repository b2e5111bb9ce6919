import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BindFlags } from './commands/bind.ts';
import { examples } from './help.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

export const kubeconfigOption = (): Option =>
  new Option('-k, --kubeconfig <file>', 'the kubeconfig to use (default: $KUBECONFIG, then ~/.kube/config)');
const contextOption = (): Option => new Option('--context <name>', 'the context of the kubeconfig to use');

const listOption = (flag: string, what: string): Option =>
  new Option(`${flag} <resource.group>`, what).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    ...value.split(','),
  ]);

function seconds(value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number of seconds.');
  return Number(value);
}

/** `capstan bind` and `capstan claims`: use what others offer. */
export function addBindings(program: Command): void {
  program
    .command('bind <path:export>')
    .description('Make what another workspace offers available in the one that the kubeconfig points at.')
    .addOption(new Option('--name <name>', 'what to call the binding (default: the name of the export)'))
    .addOption(listOption('--accept-permission-claim', 'let the provider see and change these, too'))
    .addOption(listOption('--reject-permission-claim', 'keep these from the provider'))
    .addOption(new Option('--timeout <seconds>', 'how long to wait until it is bound').argParser(seconds).default(30))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan bind root:ai:models', 'the export "models" of the workspace root:ai'],
        ['capstan bind root:ai:models --accept-permission-claim secrets.core', 'and let its controller see secrets here'],
      ),
    )
    .action(async (reference: string, flags: BindFlags) => (await import('./commands/bind.ts')).bind(reference, flags));
  addClaims(program);
}

function addClaims(program: Command): void {
  const claims = program
    .command('claims')
    .description('See and decide what the providers of bound APIs may do in a workspace beside their own kinds.')
    .addHelpText(
      'after',
      examples(
        ['capstan claims list', ''],
        ['capstan claims accept models secrets.core', ''],
        ['capstan claims reject models configmaps.core', ''],
      ),
    );
  claims
    .command('list [binding]')
    .description('Show what is asked for, and what was decided.')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action(async (name: string | undefined, flags: ConnectionFlags) => (await import('./commands/claims.ts')).listClaims(name, flags));
  for (const [verb, state] of [
    ['accept', 'Accepted'],
    ['reject', 'Rejected'],
  ] as const) {
    claims
      .command(`${verb} <binding> <resource.group...>`)
      .description(verb === 'accept' ? 'Let the provider do what it asks for.' : 'Do not let it, or no longer.')
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .action(async (name: string, asked: string[], flags: ConnectionFlags) =>
        (await import('./commands/claims.ts')).decideClaims(name, { ...flags, claims: asked, state }),
      );
  }
}
