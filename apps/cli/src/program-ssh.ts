import { type Command, Option } from 'commander';
import { examples } from './help.ts';
import { addCommand, repeated } from './program-units.ts';
import type { ConfigFlags } from './ssh/config.ts';
import type { SshFlags } from './ssh/ssh.ts';

interface Flags extends SshFlags {
  readonly stdio?: true;
}

/** `capstan ssh`: the user's own OpenSSH client, and programs that use it, for units. */
export function addSsh(program: Command): void {
  const ssh = addCommand(
    program,
    'ssh <unit> [command...]',
    'Reach a running unit with the ssh of this machine; also for scp, rsync and editors.',
  )
    .passThroughOptions()
    .addOption(repeated('-L <port:localhost:port>', 'make a port of the unit reachable here'))
    .addOption(repeated('-D <port>', 'be a SOCKS proxy here for the ports of the unit'))
    .addOption(new Option('-W <localhost:port>', 'connect input and output with a port of the unit'))
    .addOption(repeated('-o <option>', 'an option of ssh_config'))
    .addOption(new Option('-l <user>', 'ignored: commands run as the user of the unit').hideHelp())
    .addOption(new Option('-N', 'run no command'))
    .addOption(new Option('-t, --tty', 'give the command a terminal (default: for shells)'))
    .addOption(new Option('-T, --no-tty', 'no terminal'))
    .addOption(new Option('-v, --verbose', 'let ssh say what it does'))
    .addOption(new Option('--stdio', 'speak SSH on standard input and output, as a ProxyCommand'))
    .addHelpText(
      'after',
      examples(
        ['capstan ssh train-1f2e', ''],
        ['capstan ssh train-1f2e -- "cd /workspace && ls | wc -l"', 'as with ssh, a shell reads the command'],
        ['capstan ssh -N -L 6006:localhost:6006 train-1f2e', ''],
        ['capstan ssh config --write', 'then "ssh train-1f2e.capstan", scp, rsync, VS Code'],
      ),
    )
    .action(async (unit: string, words: string[], flags: Flags) => {
      if (flags.stdio === true) return (await import('./ssh/stdio.ts')).serveStdio(unit, flags);
      // Options after the unit belong to the command, so the parser leaves the mark in front of them.
      const command = words[0] === '--' ? words.slice(1) : words;
      process.exitCode = await (await import('./ssh/ssh.ts')).openSsh(unit, command, flags);
    });
  addCommand(ssh, 'config', 'Print the part of ~/.ssh/config that makes NAME.capstan the unit NAME.')
    .addOption(new Option('--write', 'write it to a file of its own, and include that in ~/.ssh/config'))
    .action(async (flags: ConfigFlags) => (await import('./ssh/config.ts')).printConfig(flags));
}
