import { type CommandDescription, type Completion, everyCommand } from './description.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The script that a shell loads. Commands and flags are in it; only names of objects are asked for, with the hidden command `__names`. */
export function completionScript(shell: Shell, program: CommandDescription): string {
  switch (shell) {
    case 'bash':
      return bashScript(program);
    case 'zsh':
      return `#compdef capstan\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(program)}`;
    case 'fish':
      return fishScript(program);
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const wordsOf = (words: readonly string[]): string => quoted(words.join(' '));

function bashScript(program: CommandDescription): string {
  const all = everyCommand(program);
  const withCommands = all.filter(({ commands }) => commands.length > 0);
  const steps = withCommands.flatMap(({ path, commands }) => commands.map((one) => quoted(`${path} ${one.path.slice(path.length + 1)}`)));
  const values = all.flatMap(({ path, flags }) =>
    flags.flatMap(({ flag, short, value }) =>
      value === undefined
        ? []
        : [
            `    ${[flag, short].flatMap((one) => (one === undefined ? [] : [quoted(`${path} ${one}`)])).join('|')}) ${bashValue(value)}; return ;;`,
          ],
    ),
  );
  const rows = all.map(({ path, flags, commands, argument }) => {
    const words = commands.map((one) => one.path.slice(path.length + 1));
    const fallback = words.length > 0 ? `_capstan_words ${wordsOf(words)}` : bashValue(argument);
    const names = flags.flatMap(({ flag, short }) => (short === undefined ? [flag] : [flag, short]));
    return `    ${quoted(path)}) if [[ $cur == -* ]]; then _capstan_words ${wordsOf(names)}; else ${fallback}; fi ;;`;
  });
  return `_capstan_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
_capstan_names() { _capstan_words "$(capstan __names "$1" 2>/dev/null)"; }
_capstan_files() { COMPREPLY=($(compgen -f -- "$cur")); }
_capstan() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path=capstan index word
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    [[ $word == -- ]] && { _capstan_files; return; }
    case "$path $word" in
      ${steps.join('|')}) path="$path $word" ;;
    esac
  done
  case "$path $prev" in
${values.join('\n')}
  esac
  case "$path" in
${rows.join('\n')}
  esac
}
complete -o filenames -F _capstan capstan
`;
}

function bashValue(completion: Completion): string {
  if (completion === 'files') return '_capstan_files';
  if (completion === 'nothing') return ':';
  return 'names' in completion ? `_capstan_names ${completion.names}` : `_capstan_words ${wordsOf(completion.words)}`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishScript(program: CommandDescription): string {
  const lines = everyCommand(program).flatMap(({ path, flags, commands, argument }) => {
    const condition = `-n ${fishQuoted(`__capstan_at ${path.split(' ').slice(1).join(' ')}`)}`;
    const below = commands.map(
      (one) => `complete -c capstan -f ${condition} -a ${one.path.slice(path.length + 1)} -d ${fishQuoted(one.about)}`,
    );
    const options = flags.map(({ flag, short, about, value }) => {
      const names = `${flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`}${short === undefined ? '' : ` -s ${short.slice(1)}`}`;
      return `complete -c capstan ${condition} ${names} -d ${fishQuoted(about)}${value === undefined ? '' : ` ${fishValue(value)}`}`;
    });
    const arguments_ =
      commands.length > 0 || argument === 'nothing' || argument === 'files'
        ? []
        : [`complete -c capstan ${condition} ${fishValue(argument)}`];
    return [...below, ...options, ...arguments_];
  });
  return `function __capstan_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l path
  for word in $words
    string match -q -- '-*' $word; or set -a path $word
  end
  test (count $argv) -eq 0; and test (count $path) -eq 0; and return 0
  test (count $argv) -gt 0; and test "$path[1..$(count $argv)]" = "$argv"
end
complete -c capstan -f
${lines.join('\n')}
`;
}

function fishValue(completion: Completion): string {
  if (completion === 'files') return '-rF';
  if (completion === 'nothing') return '-x';
  return `-xa ${fishQuoted('names' in completion ? `(capstan __names ${completion.names} 2>/dev/null)` : completion.words.join(' '))}`;
}
