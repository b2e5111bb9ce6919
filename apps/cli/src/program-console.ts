import { type Command, Option } from 'commander';
import type { ConsoleFlags } from './commands/console.ts';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

/** `capstan console`. */
export function addConsole(program: Command): void {
  program
    .command('console')
    .description('Open the web console, signed in as the user of the kubeconfig.')
    .addOption(new Option('--no-browser', 'print the one-time link instead of opening it'))
    .addOption(
      new Option(
        '--url <address>',
        'the console (default: the one of "capstan up" beside the kubeconfig, or two ports above the API server)',
      ),
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      examples(
        ['capstan console', 'in the browser of this machine'],
        ['capstan console --no-browser', 'print a link for another browser; it works once, within ten minutes'],
        ['capstan console --url https://console.example.com', ''],
      ),
    )
    .action(async (flags: ConsoleFlags) => (await import('./commands/console.ts')).openConsole(flags));
}
