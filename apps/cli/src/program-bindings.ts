import { type Command, InvalidArgumentError, Option } from 'commander';
import type { BindFlags } from './commands/bind.ts';
import { examples } from './help.ts';
import type { ConnectionFlags } from './workspaces/connection.ts';

export const kubeconfigOption = (): Option =>
  new Option('-k, --kubeconfig <file>', 'the kubeconfig to use (default: $KUBECONFIG, then ~/.kube/config)');
export const contextOption = (): Option => new Option('--context <name>', 'the context in the kubeconfig (default: the current context)');

const listOption = (flag: string, what: string): Option =>
  new Option(`${flag} <resource.group>`, what).argParser((value: string, before: string[] | undefined) => [
    ...(before ?? []),
    ...value.split(','),
  ]);

function seconds(value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('expected a whole number of seconds.');
  return Number(value);
}

/** `capstan bind` and `capstan claims`: use APIs that other workspaces export. */
export function addBindings(program: Command): void {
  program
    .command('bind <path:export>')
    .description('Bind an API that another workspace exports, so that the current workspace can use it.')
    .addOption(new Option('--name <name>', 'name of the binding (default: the name of the export)'))
    .addOption(listOption('--accept-permission-claim', 'let the provider access these resources in this workspace'))
    .addOption(listOption('--reject-permission-claim', 'deny the provider access to these resources'))
    .addOption(new Option('--timeout <seconds>', 'how long to wait for the API to be served').argParser(seconds).default(30))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan bind root:ai:models', 'bind the export "models" of the workspace root:ai'],
        ['capstan bind root:ai:models --accept-permission-claim secrets.core', 'also let its provider access secrets here'],
      ),
    )
    .action(async (reference: string, flags: BindFlags) => (await import('./commands/bind.ts')).bind(reference, flags));
  addClaims(program);
}

function addClaims(program: Command): void {
  const claims = program
    .command('claims')
    .description('List, accept or reject the access that API providers ask for in the current workspace.')
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
    .description('List the permission claims of bound APIs, and whether you accepted them.')
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .action(async (name: string | undefined, flags: ConnectionFlags) => (await import('./commands/claims.ts')).listClaims(name, flags));
  for (const [verb, state] of [
    ['accept', 'Accepted'],
    ['reject', 'Rejected'],
  ] as const) {
    claims
      .command(`${verb} <binding> <resource.group...>`)
      .description(
        verb === 'accept'
          ? 'Give the provider of a bound API the access it claims.'
          : 'Deny the provider of a bound API the access it claims, or revoke it.',
      )
      .addOption(kubeconfigOption())
      .addOption(contextOption())
      .action(async (name: string, asked: string[], flags: ConnectionFlags) =>
        (await import('./commands/claims.ts')).decideClaims(name, { ...flags, claims: asked, state }),
      );
  }
}
