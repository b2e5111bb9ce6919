import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentArchive } from '@capstan/api';
import { afterAll, expect, test } from 'vitest';
import { installScript } from './install-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-install-script-'));
afterAll(() => rmSync(directory, { recursive: true }));

const archive: AgentArchive = { platform: 'linux-x64', version: '0.1.0+abc', sha256: 'a'.repeat(64), size: 1_000, unpackedSize: 2_000 };
const script = installScript([archive]);

let made = 0;

/** Runs the script with some programs replaced. */
function install(flags: string, { programs = {}, text = script }: { programs?: Readonly<Record<string, string>>; text?: string } = {}) {
  const folder = join(directory, String(made++));
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  writeFileSync(join(folder, 'install.sh'), text);
  writeFileSync(join(folder, 'ca.pem'), '');
  const all = `--server https://127.0.0.1:1 --ca-hash h --ca-file ca.pem --prefix ${folder}/prefix --state-dir ${folder}/state ${flags}`;
  return spawnSync('sh', ['install.sh', ...all.trim().split(' ')], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder },
  });
}

const uname = (system: string, machine: string): string => `[ "$1" = -s ] && echo ${system} || echo ${machine}`;

test('is a script for a POSIX shell', () => {
  execFileSync('sh', ['-n'], { input: script });
});

test.each([
  ['macOS', { uname: uname('Darwin', 'arm64') }, 'the agent runs on Linux, and this is Darwin'],
  ['another architecture', { uname: uname('Linux', 'riscv64') }, 'runs on x86_64 and aarch64, and this machine is riscv64'],
])('refuses %s', (_, programs, message) => {
  expect(install('', { programs })).toMatchObject({ status: 1, stderr: expect.stringContaining(message) });
});

test('names the command that builds an archive for an architecture without one', () => {
  const text = installScript([archive]).replaceAll('/lib/ld-linux-aarch64.so.1', '/bin/sh');
  const { status, stderr } = install('', { programs: { uname: uname('Linux', 'aarch64') }, text });
  expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringContaining('capstan node archive --arch arm64') });
});

test('refuses a system with musl', () => {
  const musl = join(directory, 'ld-musl-x86_64.so.1');
  writeFileSync(musl, '');
  const text = script.replaceAll('/lib64/ld-linux-x86-64.so.2', '/does/not/exist').replaceAll('/lib/ld-musl-*', musl);
  const programs = { uname: uname('Linux', 'x86_64') };
  expect(install('', { text, programs })).toMatchObject({ status: 1, stderr: expect.stringContaining('uses the C library musl') });
});

test('refuses a disk that is full', () => {
  const programs = { df: 'echo header; echo "tmpfs 100 90 10 90% /"', uname: uname('Linux', 'x86_64') };
  const text = script.replaceAll('/lib64/ld-linux-x86-64.so.2', '/bin/sh');
  expect(install('', { programs, text })).toMatchObject({ status: 1, stderr: expect.stringContaining('not enough space in') });
});

test('refuses flags that it does not know, and values without a flag', () => {
  expect(install('--what')).toMatchObject({ status: 1, stderr: expect.stringContaining('there is no flag --what') });
  expect(install('--prefix')).toMatchObject({ status: 1, stderr: expect.stringContaining('--prefix needs a value') });
  expect(install('--prefix /tmp/a;b')).toMatchObject({ status: 1, stderr: expect.stringContaining('only letters, digits') });
});
