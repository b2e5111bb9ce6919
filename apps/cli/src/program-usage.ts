import { usageGroups } from '@capstan/api';
import { type Command, Option } from 'commander';
import type { UsageFlags } from './commands/usage.ts';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

/** `capstan usage`: who has used what. */
export function addUsage(program: Command): void {
  program
    .command('usage')
    .description('Add up the GPU time of the current workspace; in root, of all workspaces.')
    .addOption(new Option('-w, --workspace <path>', 'another workspace'))
    .addOption(new Option('--from <time>', 'a day or a time in UTC (default: the beginning of this month)'))
    .addOption(new Option('--to <time>', 'the same (default: now)'))
    .addOption(new Option('--group-by <what>', 'what to add up').choices([...usageGroups]).default('workspace'))
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(['table', 'json', 'csv']).default('table'))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan usage', 'of this month'],
        ['capstan usage --from 2026-03-01 --to 2026-04-01 --group-by day', ''],
        ['capstan usage --workspace root --group-by workspace -o csv', 'of all workspaces, for the owner of the platform'],
      ),
    )
    .action(async (flags: UsageFlags) => (await import('./commands/usage.ts')).usage(flags));
}
