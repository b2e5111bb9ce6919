import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describeUnless } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from '../program.ts';
import { describeCommand } from './description.ts';
import { completionScript, shells } from './scripts.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'capstan-completion-'));
  for (const shell of shells) writeFileSync(join(directory, shell), completionScript(shell, describeCommand(createProgram())));
  // Stands for a server with some objects.
  writeFileSync(join(directory, 'capstan'), '#!/bin/sh\n[ "$1" = __names ] && echo "$2-one" && echo "$2-two"\n');
  chmodSync(join(directory, 'capstan'), 0o755);
});
afterAll(() => rmSync(directory, { recursive: true }));

const without = (shell: string): string | undefined =>
  spawnSync(shell, ['--version']).error === undefined ? undefined : `${shell} is not installed`;
const environment = (): NodeJS.ProcessEnv => ({ ...process.env, PATH: `${directory}${delimiter}${process.env['PATH']}` });

describeUnless(without('bash'), 'bash', () => {
  const complete = (...words: string[]): string[] => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const script = `. ${directory}/bash; COMP_WORDS=(capstan ${line}); COMP_CWORD=${words.length}; _capstan; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script], { env: environment(), encoding: 'utf8', cwd: directory }).split('\n').filter(Boolean);
  };

  test.each<[string[], string[]]>([
    [['po'], ['port-forward']],
    [['node', 'en'], ['enroll']],
    [['ws', 'tr'], ['tree']],
    [['run', '--off'], ['--offering']],
    [
      ['run', '--offering', ''],
      ['offerings-one', 'offerings-two'],
    ],
    [['run', '--cpu', '2', '--offering', 'offerings-t'], ['offerings-two']],
    [['logs', '-f', 'units-o'], ['units-one']],
    [['stop', 'units-one', 'units-t'], ['units-two']],
    [
      ['node', 'show', ''],
      ['nodes-one', 'nodes-two'],
    ],
    [['context', 'use', 'contexts-o'], ['contexts-one']],
    [['app', 'status', 'instances-o'], ['instances-one']],
    [['app', 'deploy', 'x', '--app', 'apps-t'], ['apps-two']],
    [['app', 'show', 'apps-o'], ['apps-one']],
    [['ps', '-o', 'j'], ['json']],
    [['run', '--restart', 'on'], ['on-failure']],
    [['completion', 'z'], ['zsh']],
    [['run', '--', './capst'], ['./capstan']],
    [['__'], []],
    [['nonsense', ''], expect.arrayContaining(['run', 'ps']) as unknown as string[]],
  ])('%j', (words, expected) => {
    expect(complete(...words)).toEqual(expected);
  });
});

for (const [shell, check] of [
  ['zsh', '-n'],
  ['fish', '--no-execute'],
] as const)
  describeUnless(without(shell), shell, () => {
    test('the script is valid', () => {
      expect(spawnSync(shell, [check, join(directory, shell)], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    });
  });

test('a description cannot break out of the script', () => {
  const command = {
    path: 'capstan',
    about: '',
    flags: [{ flag: '--x', about: `it's \\ $(touch ${join(directory, 'evil')})` }],
    commands: [],
    argument: 'nothing' as const,
  };
  expect(completionScript('fish', command)).toContain(`-d 'it\\'s \\\\ $(touch`);
});
