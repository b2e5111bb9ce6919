import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Supervisor } from '../../processes/supervisor.ts';
import type { TaskContext } from '../task-type.ts';
import { packageEnsure } from './package-ensure.ts';

const directory = mkdtempSync(join(tmpdir(), 'capstan-packages-'));
afterAll(() => rmSync(directory, { recursive: true }));

let count = 0;
let machine: string;
let context: TaskContext;
/** A machine whose package managers are scripts: a file in `installed` is a package. */
beforeEach(() => {
  machine = join(directory, `machine-${count}`);
  mkdirSync(join(machine, 'installed'), { recursive: true });
  for (const program of ['apt-get', 'dpkg-query', 'dnf', 'rpm']) install(program, 'exit 127');
  vi.stubEnv('PATH', `${machine}:${process.env['PATH']}`);
  context = {
    id: `task-${count++}-1`,
    signal: new AbortController().signal,
    processes: new Supervisor({ directory: join(directory, 'processes'), groups: undefined }),
    step: () => {},
    outputIn: () => {},
  } as unknown as TaskContext;
});
afterEach(() => vi.unstubAllEnvs());

function install(program: string, text: string): void {
  writeFileSync(join(machine, program), `#!/bin/sh\ncd ${machine}/installed\n${text}\n`);
  chmodSync(join(machine, program), 0o755);
}

const doing = `
[ "$1" = --version ] && exit 0
echo "$DEBIAN_FRONTEND $*" >> ../calls
while [ $# -gt 0 ]; do
  case $1 in --*) ;; install) change=touch ;; remove) change='rm -f' ;; broken) exit 100 ;; *) $change $1 ;; esac
  shift
done`;

const managers = {
  apt: () => {
    install('apt-get', doing);
    install('dpkg-query', 'for name; do :; done; [ -e $name ] && printf installed || exit 1');
  },
  dnf: () => {
    install('dnf', doing);
    install('rpm', 'for name; do :; done; [ -e $name ]');
  },
};

const installed = (name: string): boolean => existsSync(join(machine, 'installed', name));

describe('package.ensure', () => {
  test.each(Object.entries(managers))('installs and removes packages with %s, and only what is needed', async (_name, prepare) => {
    prepare();
    const wanted = { names: ['one', 'two'], state: 'present' } as never;
    writeFileSync(join(machine, 'installed', 'one'), '');
    expect(await packageEnsure.check(wanted, context)).toBe(false);
    expect(await packageEnsure.run(wanted, context)).toMatchObject({ exitCode: 0 });
    expect([installed('one'), installed('two')]).toEqual([true, true]);
    expect(await packageEnsure.check(wanted, context)).toBe(true);
    const unwanted = { names: ['one'], state: 'absent' } as never;
    expect(await packageEnsure.check(unwanted, context)).toBe(false);
    await packageEnsure.run(unwanted, { ...context, id: `${context.id}-removal` });
    expect([installed('one'), installed('two')]).toEqual([false, true]);
    expect(await packageEnsure.check(unwanted, context)).toBe(true);
    expect(readFileSync(join(machine, 'calls'), 'utf8')).toMatch(/^noninteractive .*install one two\nnoninteractive .*remove one\n$/);
  });

  test('fails with the exit code of the package manager', async () => {
    managers.apt();
    const run = packageEnsure.run({ names: ['broken'], state: 'present' } as never, context);
    await expect(run).rejects.toMatchObject({ code: 'CommandFailed', exitCode: 100 });
  });

  test('is not supported where there is no package manager that it knows', async () => {
    await expect(packageEnsure.check({ names: ['one'], state: 'present' } as never, context)).rejects.toMatchObject({
      code: 'NotSupported',
    });
  });
});
