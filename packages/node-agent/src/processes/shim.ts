/**
 * The program between the agent and a process, in POSIX shell so that it costs no memory worth mentioning. It writes its pid before anything else, keeps the
 * output up to the limit or as far as the disk has room, and writes the exit code, whose place on the disk it takes before. (`cat` writes every piece at once; `head`
 * would keep some back, and `dd` counts small pieces as whole ones.) Arguments: the directory of its records, the working directory, the limit in bytes, the
 * cgroup's file for processes (may be empty), and the command.
 */
export const shimScript = `
umask 077
records=$1; work=$2; limit=$3; group=$4; shift 4
[ -z "$group" ] || echo $$ > "$group" || exit 125
cd "$records" || exit 125
echo '   ' > exit.new || exit 125
echo $$ > pid.new && mv pid.new pid || exit 125
{
  ( cd "$work" && exec "$@" ) < /dev/null
  printf '%-3s' $? 1<> exit.new && mv exit.new exit
} 2>&1 | {
  ( trap '' XFSZ; ulimit -f $(((limit + 511) / 512)); exec cat > output ) 2> /dev/null || { : > truncated; cat > /dev/null; }
  : > complete
}
`;

/** Where the shim and the agent keep what they know of a process, by file name. */
export const records = {
  spec: 'spec.json',
  pid: 'pid',
  exit: 'exit',
  output: 'output',
  truncated: 'truncated',
  complete: 'complete',
  boot: 'boot',
} as const;
