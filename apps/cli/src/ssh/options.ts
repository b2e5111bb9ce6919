import { resolve } from 'node:path';
import type { UnitFlags } from '../units/units.ts';

export interface SshOptions {
  readonly flags: UnitFlags;
  readonly knownHosts: string;
  /** The command line that runs this program. */
  readonly program: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** The options that let OpenSSH reach units, and nothing else, through `capstan ssh --stdio`. */
export function sshOptions({ flags, knownHosts, program, environment }: SshOptions): readonly (readonly [string, string])[] {
  const words = [...program, 'ssh', '--stdio', ...connectionFlags(flags, environment)].map(shellWord).map(withoutTokens);
  return [
    ['ProxyCommand', `${words.join(' ')} '%h'`],
    ['UserKnownHostsFile', `"${withoutTokens(knownHosts)}"`],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['StrictHostKeyChecking', 'yes'],
    ['UpdateHostKeys', 'no'],
    ['HostKeyAlgorithms', 'ssh-ed25519'],
    ['KexAlgorithms', 'curve25519-sha256'],
    ['Ciphers', 'aes256-gcm@openssh.com,aes128-gcm@openssh.com'],
    ['PreferredAuthentications', 'none'],
    ['PubkeyAuthentication', 'no'],
    ['ForwardAgent', 'no'],
    ['ForwardX11', 'no'],
  ];
}

/** Where the user's units are. Programs such as editors do not have the variables of a shell, so the kubeconfig is named. */
function connectionFlags({ kubeconfig, context, namespace }: UnitFlags, { KUBECONFIG: variable = '' }: NodeJS.ProcessEnv): string[] {
  const file = kubeconfig ?? (variable === '' || variable.includes(':') ? undefined : variable);
  return [
    ...(file === undefined ? [] : ['--kubeconfig', resolve(file)]),
    ...(context === undefined ? [] : ['--context', context]),
    ...(namespace === undefined ? [] : ['--namespace', namespace]),
  ];
}

/** One word of a shell's command line. */
export const shellWord = (text: string): string => (/^[\w./:=@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** OpenSSH replaces `%h` and the like. */
const withoutTokens = (text: string): string => text.replaceAll('%', '%%');
