import type { Command } from 'commander';
import type { AuthorityFlags, RetireFlags } from './commands/authority.ts';
import { examples } from './help.ts';
import { dataDirectoryOption } from './program-processes.ts';

/** `capstan authority`: replaces the certificate authority without interrupting anybody. */
export function addAuthority(program: Command): void {
  const authority = program
    .command('authority')
    .description('Replace the certificate authority of the servers, step by step. Running servers follow within seconds.')
    .addHelpText(
      'after',
      `${examples(
        ['capstan authority status', 'the phase, and who still uses the old authority'],
        ['capstan authority prepare', 'create the new one; both are trusted, the old one signs'],
        ['capstan authority switch', 'the new one signs; both are trusted'],
        ['capstan authority retire', 'trust only the new one'],
        ['capstan authority rollback', 'before retire: go back to the old one'],
      )}\nWith several API servers, copy pki/rotation.json to the others after prepare, and run every other step on each of them.\n`,
    );
  const command = (name: string, description: string): Command =>
    authority.command(name).description(description).addOption(dataDirectoryOption());
  command('status', 'Show the phase, the authorities, and who still uses the old one.').action(async (flags: AuthorityFlags) =>
    (await import('./commands/authority.ts')).authorityStatus(flags),
  );
  command('prepare', 'Create a new authority, which is trusted from now on. The old one signs.').action(async (flags: AuthorityFlags) =>
    (await import('./commands/authority.ts')).takeStep('prepare', flags),
  );
  command('switch', 'Sign with the new authority. The old one is still trusted.').action(async (flags: AuthorityFlags) =>
    (await import('./commands/authority.ts')).takeStep('switch', flags),
  );
  command('retire', 'Trust the old authority no longer. Refused while nodes or servers use it.')
    .option('-f, --force', 'retire it although nodes or servers use it, or cannot be asked; such nodes must be enrolled again')
    .action(async (flags: RetireFlags) => (await import('./commands/authority.ts')).retire(flags));
  command('rollback', 'Go back to the old authority, from prepare or switch.').action(async (flags: AuthorityFlags) =>
    (await import('./commands/authority.ts')).takeStep('rollback', flags),
  );
}
