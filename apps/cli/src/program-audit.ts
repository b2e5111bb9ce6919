import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditFlags } from './commands/audit.ts';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

function wholeNumber(most: number): (value: string) => number {
  return (value) => {
    if (!/^[1-9]\d{0,6}$/.test(value) || Number(value) > most) throw new InvalidArgumentError(`expected a whole number from 1 to ${most}.`);
    return Number(value);
  };
}

/** `capstan audit`: who did what. */
export function addAudit(program: Command): void {
  program
    .command('audit')
    .description('Show who changed what in the current workspace; in root, in all workspaces.')
    .addOption(new Option('-w, --workspace <path>', 'another workspace'))
    .addOption(new Option('--user <name>', 'only events of this user'))
    .addOption(new Option('--verb <verb>', 'such as create, patch or delete'))
    .addOption(new Option('--resource <resource>', 'such as pods, deployments.apps or pods/exec'))
    .addOption(new Option('-n, --namespace <name>', 'only objects in this namespace'))
    .addOption(new Option('--name <name>', 'only objects with this name'))
    .addOption(new Option('--code <number>', 'only responses with this code, such as 403').argParser(wholeNumber(999)))
    .addOption(new Option('--since <time>', 'such as 90m, 3d or 2026-01-02T15:04:05Z'))
    .addOption(new Option('--until <time>', 'the same'))
    .addOption(new Option('--limit <number>', 'how many events to show').argParser(wholeNumber(100_000)).default(50))
    .addOption(new Option('-f, --follow', 'go on with new events until Ctrl-C'))
    .addOption(new Option('-o, --output <format>', 'an EventList, or a line for each event with --follow').choices(['json']))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan audit --since 1h --user jane', ''],
        ['capstan audit --workspace root:team-a --verb delete', ''],
        ['capstan audit --code 403 --follow', 'watch what is denied'],
        ['capstan audit --since 1d -o json', ''],
      ),
    )
    .action(async (flags: AuditFlags) => (await import('./commands/audit.ts')).audit(flags));
}
