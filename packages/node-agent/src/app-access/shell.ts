import { spawn } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { AppAccessFile } from '@capstan/api';
import { type RoutedRequest, refuse } from '../requests/router.ts';
import type { RoomStreams } from '../units/drivers/driver.ts';
import { bridge } from '../units/streams/bridge.ts';
import { type Account, accountNameOf, findAccount } from './account.ts';
import { terminalProgram } from './terminal.ts';

type NodeRequest = RoutedRequest<{ kind: 'node'; path: string }>;

/** Serves a shell, or a command in it, as the Unix account of the user. */
export async function serveShell(request: NodeRequest, access: AppAccessFile, log: (line: string) => void): Promise<void> {
  const { user, query } = request;
  const forbidden = (message: string): void => refuse(request, { code: 403, reason: 'Forbidden', message });
  if (request.method !== 'POST') return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: 'expected the method POST' });
  if (access.shell !== true) return forbidden('this node gives no shells');
  const name = accountNameOf(user, access);
  if (name === undefined)
    return forbidden(`the user ${JSON.stringify(user)} has no Unix account on this node: the name is not that of an account`);
  const account = await findAccount(name);
  if (account === undefined) return forbidden(`this node has no account ${name} for people`);
  const isSet = (one: string): boolean => query.get(one) === 'true';
  const [stdin, stdout, stderr, tty] = [isSet('stdin'), isSet('stdout'), isSet('stderr'), isSet('tty')];
  const streams = startShell(account, { command: query.getAll('command'), tty });
  if (request.signal.aborted) return streams.close();
  log(`a shell of ${user} as ${name} has begun`);
  await bridge(request.respond(200), streams, { stdin, stdout, stderr });
  log(`a shell of ${user} as ${name} has ended`);
}

export interface ShellOptions {
  readonly command: readonly string[];
  readonly tty: boolean;
  /** More arguments for runuser. */
  readonly login?: readonly string[];
}

/** Starts the login shell of an account, or a command in it. */
export function startShell(account: Account, { command, tty, login: more = [] }: ShellOptions): RoomStreams {
  const login = ['runuser', '-l', account.name, ...more, ...(command.length === 0 ? [] : ['-c', command.map(quoted).join(' ')])] as const;
  const [program, ...args] = tty ? ['perl', '-e', terminalProgram, String(account.uid), ...login] : login;
  const child = spawn(program!, args, {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(tty ? (['pipe'] as const) : [])],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', TERM: 'xterm-256color' },
  });
  const sizes = child.stdio[3] as Duplex | undefined | null;
  sizes?.on('error', () => {});
  const exited = new Promise<number | undefined>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? (signal === null ? undefined : 137)));
  });
  exited.catch(() => {});
  return {
    stdin: child.stdin as Writable,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    exited,
    resize: ({ columns, rows }) => void sizes?.write(`${columns} ${rows}\n`),
    close: () => endGroup(child.pid),
  };
}

/** Ends a process and everything in its group. A terminal that closes tells the shell on it. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGTERM');
  } catch {
    // It has ended meanwhile.
  }
}

/** For a shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
