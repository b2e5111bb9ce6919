import { writeFileSync } from 'node:fs';
import { type CommandResult, run, type TemporaryDirectory } from '@capstan/testbed';

/** For `sh -c` in a terminal of `resized`: says both of its sizes, each as soon as the terminal has it, and ends with 5. */
export const saySizes =
  'for size in "33 101" "44 120"; do for try in $(seq 300); do [ "$(stty size)" = "$size" ] && break; sleep 0.1; done; echo "it is $(stty size)"; done; exit 5';

/** Runs a command in a terminal of 33 lines and 101 columns, which gets 44 and 120 when the command has said that it knows its size. */
export async function resized(
  command: readonly string[],
  { directory, environment = {} }: { readonly directory: TemporaryDirectory; readonly environment?: Readonly<Record<string, string>> },
): Promise<CommandResult> {
  const [here, seen, ended] = ['terminal.sh', 'seen', 'ended'].map((name) => directory.join(name)) as [string, string, string];
  const until = (text: string, then = ''): string =>
    `(for try in $(seq 600); do [ -e ${ended} ] || grep -q "${text}" ${seen} && break; sleep 0.1; done${then})`;
  const lines = [
    'stty rows 33 cols 101',
    'terminal=$(tty)',
    `${until('it is 33 101', '; stty -F $terminal rows 44 cols 120')} &`,
    `exec ${command.map(quoted).join(' ')}`,
  ];
  writeFileSync(here, lines.join('\n'));
  // Without input, the terminal would get an end of file before it is raw.
  const terminal = `(script -qefc 'bash ${here}' /dev/null; code=$?; touch ${ended}; exit $code)`;
  return run('bash', ['-c', `set -o pipefail; rm -f ${ended}; : > ${seen}; ${until('it is 44 120')} | ${terminal} | tee ${seen}`], {
    environment,
    timeout: 90_000,
  });
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
