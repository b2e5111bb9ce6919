import type { ProcessSpec } from './driver.ts';

/**
 * The program between the agent and a process, in POSIX shell so that it costs no memory worth mentioning. It writes its pid before anything else, keeps the
 * output up to the limit or as far as the disk has room, and writes the exit code, whose place on the disk it takes before. (`cat` writes every piece at once; `head`
 * would keep some back, and `dd` counts small pieces as whole ones.) Arguments: the directory of its records, the working directory, the limit in bytes, the
 * cgroup's file for processes (may be empty), and the command. A file `environment` in the records is read first, and deleted.
 */
export const shimScript = `
umask 077
records=$1; work=$2; limit=$3; group=$4; shift 4
[ -z "$group" ] || echo $$ > "$group" || exit 125
cd "$records" || exit 125
echo '   ' > exit.new || exit 125
if [ -e environment ]; then . ./environment && rm environment || exit 125; fi
echo $$ > pid.new && mv pid.new pid || exit 125
{
  ( cd "$work" && exec "$@" ) < /dev/null
  printf '%-3s' $? 1<> exit.new && mv exit.new exit
} 2>&1 | {
  ( trap '' XFSZ; ulimit -f $(((limit + 511) / 512)); exec cat > output ) 2> /dev/null || { : > truncated; cat > /dev/null; }
  : > complete
}
`;

/** The arguments of the shell that runs the shim. */
export function shimArguments(
  { command, workingDirectory = '/', outputLimit }: ProcessSpec,
  { folder, entrance }: { readonly folder: string; readonly entrance: string },
): string[] {
  return ['-c', shimScript, 'capstan', folder, workingDirectory, String(outputLimit), entrance, ...command];
}

/** Where the shim and the agent keep what they know of a process, by file name. */
export const records = {
  spec: 'spec.json',
  pid: 'pid',
  exit: 'exit',
  output: 'output',
  truncated: 'truncated',
  complete: 'complete',
  boot: 'boot',
  /** For drivers that must not pass secrets in another way. The shim reads and deletes it. */
  environment: 'environment',
} as const;
