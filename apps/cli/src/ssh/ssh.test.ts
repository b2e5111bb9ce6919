import { spawn, spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import type { SessionStart } from '@capstan/ssh';
import { temporaryDirectory } from '@capstan/testbed';
import { describe, expect, test } from 'vitest';
import { configBlock, includeIn } from './config.ts';
import { hostKey, writeKnownHosts } from './files.ts';
import { sshOptions } from './options.ts';
import { sessionCommand, signalCommand } from './program.ts';

const nothing = { input: Readable.from([]), output: new Writable(), errors: new Writable() };

function runHere(start: Partial<SessionStart>): { stdout: string; status: number | null } {
  const [program, ...args] = sessionCommand(
    { program: { kind: 'shell' }, terminal: undefined, environment: new Map(), ...nothing, ...start },
    'token',
  )!;
  return spawnSync(program!, args, { encoding: 'utf8', input: '' });
}

describe('the command of a session', () => {
  test('is a command line for a shell, with its variables', () => {
    const environment = new Map([
      ['A', '$(false) "quoted" \'single\'\n'],
      ['B', '-n'],
    ]);
    const command = 'printf "%s|" "$A" "$B" "$CAPSTAN_SSH_SESSION"; exit 3';
    const { stdout, status } = runHere({ program: { kind: 'exec', command }, environment });
    expect([stdout, status]).toEqual(['$(false) "quoted" \'single\'\n|-n|token|', 3]);
  });

  test('knows the kind and the size of the terminal', () => {
    const terminal = { type: 'xterm', columns: 80, rows: 24 };
    const words = sessionCommand({ program: { kind: 'shell' }, terminal, environment: new Map(), ...nothing }, 'token')!;
    expect(words[2]).toMatch(/^stty rows 24 cols 80 /);
    expect(words).toContain('TERM=xterm');
  });

  test('is for sftp only, if it is a subsystem', () => {
    const start = { terminal: undefined, environment: new Map<string, string>(), ...nothing };
    expect(sessionCommand({ program: { kind: 'subsystem', name: 'netconf' }, ...start }, 'x')).toBe(undefined);
    expect(sessionCommand({ program: { kind: 'subsystem', name: 'sftp' }, ...start }, 'x')).toBeDefined();
  });

  test('gets signals, with everything that it started', async () => {
    const token = `token-${process.pid}`;
    const [program, ...args] = sessionCommand(
      {
        program: { kind: 'exec', command: 'trap "echo caught; exit 9" USR1; echo begun; while :; do sleep 0.05; done' },
        terminal: undefined,
        environment: new Map(),
        ...nothing,
      },
      token,
    )!;
    const child = spawn(program!, args);
    let seen = '';
    child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await expect.poll(() => seen).toBe('begun\n');
    const [kill, ...words] = signalCommand('USR1', token);
    expect(spawnSync(kill!, words).status).toBe(0);
    await expect.poll(() => child.exitCode).toBe(9);
    expect(seen).toBe('begun\ncaught\n');
  });
});

describe('the files for OpenSSH', () => {
  test('keep one key, which only the user can read, and name it for all units', () => {
    using directory = temporaryDirectory('ssh-files');
    const first = hostKey(directory.join('ssh'));
    expect(hostKey(directory.join('ssh')).publicBlob).toEqual(first.publicBlob);
    expect(statSync(directory.join('ssh/host_ed25519.pem')).mode & 0o777).toBe(0o600);
    expect(writeKnownHosts(directory.join('ssh'))).toBe(directory.join('ssh/known_hosts'));
    writeFileSync(directory.join('ssh/host_ed25519.pem'), 'nonsense');
    expect(() => hostKey(directory.join('ssh'))).toThrow('is not the host key of capstan ssh');
  });

  test('quote paths, and name the kubeconfig', () => {
    const options = sshOptions({
      flags: { context: "it's", namespace: 'team' },
      knownHosts: '/home/me/100%/known hosts',
      program: ['/opt/my node', '/opt/capstan'],
      environment: { KUBECONFIG: '/home/me/config' },
    });
    const block = configBlock(options);
    expect(block).toContain(
      `  ProxyCommand '/opt/my node' /opt/capstan ssh --stdio --kubeconfig /home/me/config --context 'it'\\''s' --namespace team '%h'\n`,
    );
    expect(block).toContain('  UserKnownHostsFile "/home/me/100%%/known hosts"\n');
    expect(block).toMatch(/^Host \*\.capstan\n {2}ProxyCommand/);
  });

  test('are included once, before all hosts', () => {
    const once = includeIn('Host a\n', '/x/config');
    expect(once).toBe('Include "/x/config"\n\nHost a\n');
    expect(includeIn(once, '/x/config')).toBe(once);
    expect(includeIn('', '/x/config')).toBe('Include "/x/config"\n');
  });
});
