import { Argument, type Command, Option } from 'commander';
import type { NameKind } from './completion/description.ts';
import type { Shell } from './completion/scripts.ts';
import type { DoctorFlags } from './doctor/doctor.ts';
import { examples } from './help.ts';
import { contextOption, kubeconfigOption } from './program-bindings.ts';

/** `capstan doctor` and `capstan completion`: help with this machine and with the shell. */
export function addHelp(program: Command): void {
  program
    .command('doctor')
    .description('Say what this machine can do, and what is missing.')
    .addOption(new Option('-o, --output <format>', 'print JSON instead of lines').choices(['json']))
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .addHelpText(
      'after',
      `${examples(['capstan doctor', ''], ['capstan doctor -o json', 'for programs'])}
Each line that is not "ok" says what to install or to change. Nothing on this machine is changed.
`,
    )
    .action(async (flags: DoctorFlags) => {
      process.exitCode = await (await import('./doctor/doctor.ts')).examine(flags);
    });
  program
    .command('completion')
    .description('Print a script that completes commands, flags and names in your shell.')
    .addArgument(new Argument('<shell>', 'your shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      examples(
        ['source <(capstan completion bash)', 'in ~/.bashrc'],
        ['source <(capstan completion zsh)', 'in ~/.zshrc, after compinit'],
        ['capstan completion fish > ~/.config/fish/completions/capstan.fish', ''],
      ),
    )
    .action(async (shell: Shell) => {
      const [{ describeCommand }, { completionScript }] = await Promise.all([
        import('./completion/description.ts'),
        import('./completion/scripts.ts'),
      ]);
      process.stdout.write(completionScript(shell, describeCommand(program)));
    });
  program
    .command('__names <kind>', { hidden: true })
    .action(async (kind: NameKind) => (await import('./completion/names.ts')).printNamesOf(kind));
}
