import type { SessionProgram, SessionStart, TerminalSize } from '@capstan/ssh';

/** Marks the processes of a session, so that signals find them. */
export const sessionVariable = 'CAPSTAN_SSH_SESSION';

const exportAll = 'while [ "$#" -gt 1 ]; do export "$1"; shift; done';
const chooseShell = 'if command -v bash >/dev/null 2>&1; then set -- bash "$1"; else set -- sh "$1"; fi';
const sftpPlaces = ['openssh', 'ssh', 'sftp'].flatMap((folder) => [`/usr/lib/${folder}`, `/usr/libexec/${folder}`]);

/** The script of a shell that runs the program, with the command line as its last argument. Only what every `sh` has. */
function scriptOf(program: SessionProgram): string {
  switch (program.kind) {
    case 'shell':
      return `${chooseShell}; exec "$1" -l`;
    case 'exec':
      return `${chooseShell}; exec "$1" -c "$2"`;
    case 'subsystem': {
      const places = [...sftpPlaces, '/usr/libexec'].map((folder) => `${folder}/sftp-server`).join(' ');
      const missing = 'capstan: there is no sftp-server in this unit, which sftp and scp need; use "capstan cp", rsync, or "scp -O"';
      return `for path in "$(command -v sftp-server)" ${places}; do if [ -x "$path" ]; then exec "$path"; fi; done; echo '${missing}' >&2; exit 127`;
    }
  }
}

/** So that the program never sees another size; the one that is sent arrives a moment after its start. */
const sizeOf = ({ columns, rows }: TerminalSize): string =>
  columns > 0 && rows > 0 ? `stty rows ${rows} cols ${columns} 2>/dev/null; ` : '';

/** The command of a session, as words for `exec`. Undefined if there is no such subsystem. */
export function sessionCommand({ program, terminal, environment }: SessionStart, token: string): readonly string[] | undefined {
  if (program.kind === 'subsystem' && program.name !== 'sftp') return undefined;
  const variables = new Map([
    ...environment,
    ...(terminal === undefined ? [] : [['TERM', terminal.type] as const]),
    [sessionVariable, token],
  ]);
  const assignments = [...variables].map(([name, value]) => `${name}=${value}`);
  const script = `${terminal === undefined ? '' : sizeOf(terminal)}${exportAll}; ${scriptOf(program)}`;
  return ['sh', '-c', script, 'sh', ...assignments, program.kind === 'exec' ? program.command : ''];
}

/** Sends a signal to all processes of a session. */
export function signalCommand(name: string, token: string): readonly string[] {
  const script =
    'for file in $(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null); do pid=${file#/proc/}; kill -s "$2" "${pid%/environ}" 2>/dev/null; done; true';
  return ['sh', '-c', script, 'sh', `${sessionVariable}=${token}`, name];
}
