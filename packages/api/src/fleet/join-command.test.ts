import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { agentCommand, installCommand } from './join-command.ts';

const invitation = { server: 'https://10.0.0.1:6443', token: 'gpu-1.secret', authorityHash: 'a'.repeat(64) };

test('a bare machine gets a command for a POSIX shell, which verifies everything that it runs', () => {
  const command = installCommand(invitation);
  expect(command).not.toContain('\n');
  execFileSync('sh', ['-n'], { input: command });
  const [first = '', ...others] = command.match(/curl [^|;]*/g) ?? [];
  expect(first).toContain('-fsSk $S/capstan/authority/$H');
  expect(others).toHaveLength(1);
  expect(others[0]).toContain('--cacert ca.pem');
});

test('the token is in no URL and no argument of a program', () => {
  expect(installCommand(invitation)).toMatch(/ CAPSTAN_NODE_TOKEN=gpu-1\.secret sh install\.sh [^;]*$/);
  expect(installCommand(invitation).match(/gpu-1\.secret/g)).toHaveLength(1);
});

test('a machine with the command gets a short one', () => {
  expect(agentCommand(invitation)).toBe(
    `capstan node-agent --server https://10.0.0.1:6443 --token gpu-1.secret --ca-hash ${'a'.repeat(64)}`,
  );
});
