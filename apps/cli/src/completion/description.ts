import type { Command, Option } from 'commander';

/** The words that can follow: names of objects that the server knows, fixed words, or files. */
export type Completion = { readonly names: NameKind } | { readonly words: readonly string[] } | 'files' | 'nothing';
export const nameKinds = ['units', 'offerings', 'nodes', 'contexts', 'apps', 'instances'] as const;
export type NameKind = (typeof nameKinds)[number];

export interface FlagDescription {
  /** `--offering`, or `-o` if there is no long one. */
  readonly flag: string;
  readonly short?: string;
  readonly about: string;
  /** Undefined for flags without a value. */
  readonly value?: Completion;
}

/** A command, as shells need to know it. */
export interface CommandDescription {
  /** `capstan node list`. */
  readonly path: string;
  readonly about: string;
  readonly flags: readonly FlagDescription[];
  readonly commands: readonly CommandDescription[];
  readonly argument: Completion;
}

export function describeCommand(command: Command, path = command.name()): CommandDescription {
  const commands = command.commands.filter((one) => !isHidden(one)).map((one) => describeCommand(one, `${path} ${one.name()}`));
  return {
    path,
    about: command.description(),
    flags: command.createHelp().visibleOptions(command).map(describeFlag),
    commands,
    argument: argumentOf(command, path),
  };
}

/** Commander has no public way to ask. */
const isHidden = (command: Command): boolean => (command as Command & { readonly _hidden?: boolean })._hidden === true;

const flagNames: Readonly<Record<string, NameKind>> = {
  '--offering': 'offerings',
  '--node': 'nodes',
  '--context': 'contexts',
  '--app': 'apps',
};

function describeFlag(option: Option): FlagDescription {
  const { long, short, description, argChoices, required, optional } = option;
  const flag = long ?? short ?? '';
  const takesValue = required || optional;
  const kind = flagNames[flag];
  const value: Completion =
    argChoices !== undefined
      ? { words: argChoices }
      : kind !== undefined
        ? { names: kind }
        : /<(file|dir)>/.test(option.flags)
          ? 'files'
          : 'nothing';
  return { flag, about: description, ...(short !== undefined && long !== undefined && { short }), ...(takesValue && { value }) };
}

function argumentOf(command: Command, path: string): Completion {
  const argument = command.registeredArguments[0];
  if (argument === undefined) return 'nothing';
  const name = argument.name();
  if (argument.argChoices !== undefined) return { words: argument.argChoices };
  if (name === 'unit' || name === 'units') return { names: 'units' };
  if (name === 'context') return { names: 'contexts' };
  if (name === 'app') return { names: 'apps' };
  if (name === 'instance' || name === 'instances') return { names: 'instances' };
  if (name === 'node' || (name === 'name' && / node /.test(`${path} `))) return { names: 'nodes' };
  return name === 'file' || name === 'source' || name === 'command' ? 'files' : 'nothing';
}

/** All commands, the outer ones first. */
export function everyCommand(command: CommandDescription): CommandDescription[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}
