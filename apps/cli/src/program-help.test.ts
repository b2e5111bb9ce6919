import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram, groups } from './program.ts';

/** The output of `--help` of a command. */
function helpOf(name: string): string {
  const command = createProgram().commands.find((one) => one.name() === name) as Command;
  let text = '';
  command.configureOutput({ writeOut: (part) => void (text += part) }).outputHelp();
  return text;
}

describe('--help', () => {
  test.each([
    ...['run', 'ps', 'logs', 'shell', 'attach', 'cp', 'port-forward', 'stop', 'start', 'rm', 'wait', 'ssh'],
    ...['volume', 'usage', 'events', 'top', 'doctor', 'login', 'completion'],
  ])('of %s shows commands to try', (name) => {
    expect(helpOf(name)).toMatch(new RegExp(`^Examples:\\n(?: {2}.+\\n)*? {2}.*capstan ${name}`, 'm'));
  });

  test('of every command says what it does', () => {
    const silent = (command: Command): string[] => [
      ...(command.description() === '' ? [command.name()] : []),
      ...command.commands.flatMap(silent),
    ];
    expect(createProgram().commands.flatMap(silent)).toEqual(['__names']);
  });
});

test('a command that needs no others is added with those of its part only, and is the same', () => {
  const namesOf = (program: Command): string[] => program.commands.map((one) => one.name());
  for (const { names } of groups.flatMap(({ parts }) => parts))
    for (const name of names) {
      expect(namesOf(createProgram(name))).toEqual(names);
      expect(namesOf(createProgram())).toContain(name);
    }
  expect(namesOf(createProgram('completion'))).toEqual(namesOf(createProgram()));
});
